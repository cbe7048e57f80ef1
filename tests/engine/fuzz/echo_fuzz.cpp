// Packets that a socket for echoes is handed: answers, others' answers, and anything else.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/echo.hpp"
#include "fuzz/bytes.hpp"
#include "transport/socket/echoes.hpp"

namespace {

using namespace sonde;

constexpr std::array kinds{EchoSocketKind::ping_ipv4, EchoSocketKind::raw_ipv4,
                           EchoSocketKind::ping_ipv6, EchoSocketKind::raw_ipv6};
constexpr std::uint16_t identifier = 0x2A2A;
constexpr std::uint64_t sent = 5;

// A socket of a kind that has asked for some echoes.
Echoes asked_as(EchoSocketKind kind) {
    Echoes echoes(kind, identifier);
    for (std::uint64_t number = 0; number < sent; ++number) {
        (void)echoes.request(echoes.next_sequence(number), {});
    }
    return echoes;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::array asked{asked_as(kinds[0]), asked_as(kinds[1]), asked_as(kinds[2]),
                                  asked_as(kinds[3])};
    Bytes given(data, size);
    const Echoes& echoes = asked.at(given.one() % asked.size());
    const auto packet = given.rest();
    (void)read_echo(packet);
    (void)read_echo_in_ipv4(packet);
    if (const auto sequence = echoes.answered(packet)) {
        const auto number = echoes.number_of(*sequence);
        if (number && *number >= sent) {
            std::abort(); // a message that was never sent
        }
    }
    return 0;
}
