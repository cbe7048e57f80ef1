// One entry with its memory, and the check of what it left there.
#pragma once

#include <cstddef>
#include <vector>

#include "collective/cold.hpp"
#include "collective/context.hpp"
#include "collective/entry.hpp"

namespace sonde::collective {

class Operation {
public:
    using Call = int (*)(Context&);

    // Refuses what the entry cannot do, takes all memory; sends nothing. Throws Failure.
    Operation(const Setup& setup, const Entry& entry);

    // All ranks together, once.
    void open();
    // Outside of the timed part, before and after repetition i. after() says whether this rank then
    // held what it must; always true without check_data.
    void before(std::size_t i);
    [[nodiscard]] bool after();

    [[nodiscard]] Call call() const noexcept { return entry_.call; }
    // What only begins it; none where it cannot be begun and waited for.
    [[nodiscard]] Call begin() const noexcept { return entry_.begin; }
    [[nodiscard]] Context& context() noexcept { return context_; }
    [[nodiscard]] std::size_t least_bytes_sent() const { return entry_.sent(context_); }
    [[nodiscard]] std::size_t messages() const {
        return entry_.messages == nullptr ? 0 : entry_.messages(context_);
    }
    [[nodiscard]] std::size_t cold_bytes() const noexcept { return cold_.bytes(); }

    // Data left over from the repetition before cannot pass for new data: every byte is another
    // than the one that must come.
    void clear();
    [[nodiscard]] bool intact();

private:
    void find_partners(const Setup& setup);
    Context& prepare(const Setup& setup);
    void wait_for_all() const;

    Entry entry_;
    int first_root_;
    void* persistent_ = nullptr; // MPI's function
    Context context_;
    Cold cold_;
    std::vector<std::byte> expected_; // empty without check_data
    std::size_t expected_bytes_ = 0;
};

} // namespace sonde::collective
