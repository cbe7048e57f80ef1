// Measurements of one host know of each other: one at a time has the host, or says that it has not.
//
// A lock on a file of the host, which the kernel gives back when its holder ends in whatever way. A
// measurement that does not wait for it takes a second one together with its like, by which the
// first learns that it was not alone.
#pragma once

#include <cstdint>
#include <string>

#include "core/descriptor.hpp"

namespace sonde {

class Exclusion {
public:
    // Files lie in this folder, which everybody may write to.
    explicit Exclusion(const std::string& folder);

    // Whether the host is ours from now on: empty, else who has it. Never waits. `what` is what
    // others are told, in printable ASCII.
    [[nodiscard]] std::string claim(const std::string& what);
    // From now on measures although the host is another's.
    void measure_beside(const std::string& what);
    // Who measured beside us since claim(), empty where nobody did. The host is free then.
    [[nodiscard]] std::string release();

private:
    Descriptor owner_;
    Descriptor beside_;
    bool has_host_ = false;
    bool is_beside_ = false;
    std::int64_t beside_written_at_ns_ = 0; // when it became ours, by the file's own clock
};

constexpr std::size_t most_claim_bytes = 300;

} // namespace sonde
