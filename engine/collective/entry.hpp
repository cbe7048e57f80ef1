// A new operation is one entry of a table: what it takes, its set-up, the measured call, and what
// must be there afterwards. The tables are in collectives.cpp, neighbours.cpp, messages.cpp,
// rates.cpp, layouts.cpp, one_sided.cpp and communicators.cpp; tables.cpp puts them together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collective/context.hpp"
#include "schedule/schedule.hpp"

namespace sonde::collective {

enum class Group : std::uint8_t {
    collective,
    neighbourhood,
    message,
    rate,
    datatype,
    one_sided,
    communicator
};

// What message_bytes may be.
enum class Sizes : std::uint8_t {
    any,
    words,    // of 8 bytes each
    records,  // of 16 bytes each
    one_word, // 8
    none      // 0
};

enum class Partnered : std::uint8_t {
    none,
    matching, // everyone receives from the rank that it sends to
    any
};

enum class Form : std::uint8_t { blocking, started, persistent };

struct Entry {
    std::string_view name = {};
    Group group = Group::collective;
    Sizes sizes = Sizes::any;
    Partnered partnered = Partnered::none;
    bool rooted = false;
    bool divides = false;  // into parts that may be uneven
    bool reduces = false;  // words, in a way that may be chosen
    bool windowed = false; // so many messages at once
    bool binds = false;    // memory to MPI's objects, before the first repetition
    std::optional<schedule::Family> family = std::nullopt; // whose schedules do the same
    // Where parts are uneven: the bytes of each rank's, or of each pair's by origin, for them.
    std::vector<std::int64_t> (*unequal)(const Context&) = nullptr;

    // Takes memory and counts what is needed; sends nothing.
    void (*prepare)(Context&) = nullptr;
    // The measured call; MPI's status.
    int (*call)(Context&) = nullptr;
    // Writes what `got` must begin with after the call, and returns how many bytes that is.
    std::size_t (*expect)(const Context&, std::span<std::byte>) = nullptr;
    // Payload that this rank must send in one repetition, whatever the algorithm, bytes.
    std::size_t (*sent)(const Context&) = nullptr;

    // Where there is one: the non-blocking form and a wait ("i" before the name), and what makes
    // the persistent form's request ("_init" behind it) by the function of that name.
    int (*started)(Context&) = nullptr;
    int (*make_persistent)(Context&, void* function) = nullptr;
    // Only begins; what is to be waited for is in the context's requests, or request.
    int (*begin)(Context&) = nullptr;
    // Of messages, where there is one: the call when both partners send at once, and when all send
    // to a root.
    int (*head_on)(Context&) = nullptr;
    int (*to_one)(Context&) = nullptr;
    // Messages that this rank sends in one repetition, where it is their number that counts.
    std::size_t (*messages)(const Context&) = nullptr;

    // Where needed. After prepare, by all ranks together: communicators, windows, requests.
    void (*open)(Context&) = nullptr;
    // What `got` holds before the call, where that matters; before every checked repetition.
    void (*initial)(const Context&, std::span<std::byte>) = nullptr;
    // Before every repetition's start: receives that must be there already. All ranks then wait
    // for each other.
    void (*ready)(Context&) = nullptr;
    // Makes stores to `exposed` and the others' calls visible to each other, while no rank is in
    // the call; with check_data. All ranks wait for each other.
    void (*settle)(Context&) = nullptr;
    // After every repetition, outside of the timed part: frees what the call made.
    void (*after)(Context&) = nullptr;

    Form form = Form::blocking;
};

// Each table.
[[nodiscard]] std::span<const Entry> collectives();
[[nodiscard]] std::span<const Entry> neighbours();
[[nodiscard]] std::span<const Entry> messages();
[[nodiscard]] std::span<const Entry> rates();
[[nodiscard]] std::span<const Entry> layouts();
[[nodiscard]] std::span<const Entry> one_sided();
[[nodiscard]] std::span<const Entry> communicators();

// All entries of all tables, as they are.
[[nodiscard]] std::vector<Entry> all_entries();
// The names of an entry's forms.
[[nodiscard]] std::vector<std::string> names_of(const Entry& entry);
// The entry of a name, whose `call` is that of the form. Throws Failure("bad_request").
[[nodiscard]] Entry find_entry(std::string_view name);

} // namespace sonde::collective
