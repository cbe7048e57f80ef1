// What the tracer writes: a folder of text files, each complete in itself, that a kill cannot
// spoil.
//
// The lines are described in docs/reference/trace.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/descriptor.hpp"
#include "counters/parse.hpp"

namespace sonde {

// Numbers names, and writes only what changed since the line before.
class SampleText {
public:
    // Lines for names that are new, then one for the sample: `head`, then the changes. Says
    // everything again after restart().
    [[nodiscard]] std::string lines(std::string_view head, const CounterValues& values);
    // What lines() gave last stands in the file: later lines build on it.
    void commit();
    void restart();

    // Names that were numbered since restart(), gone ones included.
    [[nodiscard]] std::size_t names() const { return entries_.size(); }

private:
    struct Entry {
        std::int64_t index = 0;
        std::int64_t value = 0;
        bool is_named = false;
        bool is_present = false;
        std::int64_t next_value = 0;
        bool is_next_present = false;
    };
    void write_change(std::string& line, Entry& entry, bool present, std::int64_t value);

    std::map<std::string, Entry> entries_;
    std::vector<Entry*> changed_;
};

struct JournalSettings {
    std::filesystem::path folder;
    std::int64_t most_bytes = std::int64_t{1} << 30U; // of all files; the oldest go
    nlohmann::json about;                             // for the head of each file
};

class Journal {
public:
    // Takes the folder, which nobody else may write to, makes it where there is none, and begins
    // the first file. Throws Failure("bad_request") where there is a trace already.
    explicit Journal(JournalSettings settings);
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    // Sample `number` of the grid, so long after its time. False where it could not be written; the
    // next one then holds what changed since the last one that was.
    bool sample(std::int64_t number, std::int64_t late_ns, std::int64_t cost_ns,
                const CounterValues& values);
    // A sample outside the grid, at an instant of its own: `start` and `end`.
    bool boundary(std::string_view label, std::int64_t since_begin_ns, std::int64_t cost_ns,
                  const CounterValues& values);
    // A part that gives nothing on this host, and why.
    void missing(std::string_view part, std::string_view why);
    void end(std::string_view reason, std::int64_t samples, std::int64_t missed);

    [[nodiscard]] std::int64_t lost() const { return lost_; }
    [[nodiscard]] const std::string& problem() const { return problem_; } // of the last loss

private:
    void take_folder();
    void begin_file();
    void remove_oldest();
    bool write_sample(std::string_view head, const CounterValues& values);
    bool write(std::string_view text);

    JournalSettings settings_;
    std::int64_t most_file_bytes_;
    Descriptor lock_;
    Descriptor file_;
    std::int64_t file_bytes_ = 0;
    std::int64_t file_number_ = 0;
    std::map<std::int64_t, std::int64_t> earlier_; // bytes by number of the files before
    std::vector<std::string> notes_;               // said again in each file
    SampleText text_;
    std::int64_t lost_ = 0;
    std::string problem_;
};

constexpr std::string_view pid_file = "pid";

} // namespace sonde
