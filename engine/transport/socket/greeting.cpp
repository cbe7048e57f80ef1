#include "transport/socket/greeting.hpp"

#include <cstring>

#include "core/failure.hpp"
#include "core/hexadecimal.hpp"

namespace sonde {
namespace {

struct GreetingWire {
    std::array<char, 8> magic{'n', 'e', 't', 's', 'o', 'n', 'd', 'e'};
    std::uint16_t version = 1;
    std::uint16_t purpose = 0;
    std::uint32_t unused = 0;
    Cookie cookie{};
};
static_assert(sizeof(GreetingWire) == greeting_bytes);

Cookie shown_cookie(Purpose purpose, const Admission& admission) {
    if (!admission.key) {
        return admission.cookie;
    }
    const Speaker speaker = purpose == Purpose::welcome ? Speaker::target : Speaker::origin;
    const Sealed sealed{Sealed::What::greeting, speaker, static_cast<std::uint64_t>(purpose),
                        admission.cookie.size()};
    return tag_of(HmacSha256(*admission.key), sealed, admission.cookie);
}

} // namespace

Cookie parse_cookie(const std::string& text) {
    Cookie cookie{};
    if (!read_hexadecimal(text, cookie)) {
        throw Failure("bad_request", "request: cookie must be 32 hexadecimal digits, 0-9 and a-f");
    }
    return cookie;
}

Greeting make_greeting(Purpose purpose, const Admission& admission) {
    GreetingWire wire;
    wire.purpose = static_cast<std::uint16_t>(purpose);
    wire.cookie = shown_cookie(purpose, admission);
    Greeting greeting;
    std::memcpy(greeting.data(), &wire, sizeof wire);
    return greeting;
}

std::optional<Purpose> read_greeting(std::span<const std::byte> bytes, const Admission& admission) {
    for (const Purpose purpose : {Purpose::control, Purpose::test, Purpose::welcome}) {
        if (are_same(bytes, make_greeting(purpose, admission))) {
            return purpose;
        }
    }
    return std::nullopt;
}

} // namespace sonde
