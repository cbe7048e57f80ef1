// Data that no cache holds when a repetition begins.
#pragma once

#include <cstddef>
#include <vector>

#include "collective/operation_choices.hpp"

namespace sonde::collective {

struct Context;

class Cold {
public:
    // After the context's memory is there: takes what is walked through or taken in turns. Throws
    // Failure("bad_request") where that is less than the last-level cache, Failure("no_memory").
    explicit Cold(Context& context);

    // Before a repetition: its memory; and after everything else that touches its data.
    void turn(Context& context) noexcept;
    void flush(Context& context) noexcept;

    // What is walked through or taken in turns; 0 where caches are left alone.
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    void take_copies(Context& context);

    CacheState state_;
    std::size_t bytes_ = 0;
    std::size_t copies_ = 1;
    std::size_t repetition_ = 0;
    std::vector<unsigned char> walked_;
};

// What `asked` bytes (0: none are asked for) become with a last-level cache of so many (0: not
// known). Throws Failure("bad_request").
[[nodiscard]] std::size_t cold_bytes(std::size_t asked, std::size_t last_level_cache_bytes);

} // namespace sonde::collective
