// Elements in as many parts as there are ranks, one after the other.
#pragma once

#include <cstddef>

namespace sonde::collective {

// Even: all parts are the same. Uneven: part i is (i + 1) / (1 + 2 + ... + ranks) of all, so that
// the last is about twice the mean and the first nearly nothing; the sum is that of the even parts.
class Division {
public:
    Division(std::size_t mean, int parts, bool uneven)
        : mean_(mean), parts_(static_cast<std::size_t>(parts)), uneven_(uneven) {}

    [[nodiscard]] std::size_t total() const noexcept { return mean_ * parts_; }
    // Where a part begins; that of a part behind the last is total().
    [[nodiscard]] std::size_t begin(int part) const noexcept {
        const auto i = static_cast<std::size_t>(part);
        if (!uneven_) {
            return mean_ * i;
        }
        // total() i (i + 1) / (parts (parts + 1)), whose product may exceed 64 bits.
        const std::size_t whole = parts_ * (parts_ + 1);
        const std::size_t share = i * (i + 1);
        return total() / whole * share + total() % whole * share / whole;
    }
    [[nodiscard]] std::size_t size(int part) const noexcept {
        return begin(part + 1) - begin(part);
    }

private:
    std::size_t mean_;
    std::size_t parts_;
    bool uneven_;
};

} // namespace sonde::collective
