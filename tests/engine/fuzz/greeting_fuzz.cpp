// The first bytes of a connection: nobody gets in but with those that make_greeting() makes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/failure.hpp"
#include "fuzz/bytes.hpp"
#include "transport/socket/greeting.hpp"

namespace {

using namespace sonde;

template <class Array>
Array taken(Bytes& given) {
    Array found{};
    const auto from = given.take(found.size());
    std::copy(from.begin(), from.end(), found.begin());
    return found;
}

// With a key or without.
Admission admission_of(Bytes& given) {
    const bool has_key = given.one() % 2 != 0;
    Admission admission{taken<Cookie>(given)};
    if (has_key) {
        admission.key = taken<SealKey>(given);
    }
    return admission;
}

void try_text(std::span<const std::byte> bytes) {
    std::string text;
    std::transform(bytes.begin(), bytes.end(), std::back_inserter(text),
                   [](std::byte b) { return static_cast<char>(b); });
    try {
        (void)parse_cookie(text);
    } catch (const Failure&) { // most texts are no cookie
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Bytes given(data, size);
    const Admission admission = admission_of(given);
    const auto said = given.rest();
    if (const auto purpose = read_greeting(said, admission)) {
        const Greeting right = make_greeting(*purpose, admission);
        if (!std::equal(said.begin(), said.end(), right.begin(), right.end())) {
            std::abort();
        }
    }
    try_text(said);
    return 0;
}
