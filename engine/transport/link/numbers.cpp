#include "transport/link/numbers.hpp"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "core/failure.hpp"

namespace sonde {
namespace {

constexpr int most_draws = 64;

// A name of the kernel's own, without a file: its first character is 0.
bool claim(int fd, std::uint16_t number) {
    const std::string text = "netsonde-link-" + std::to_string(number);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(text.begin(), text.end(), std::begin(address.sun_path) + 1);
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    return ::bind(fd, reinterpret_cast<const sockaddr*>(&address), bytes) == 0;
}

} // namespace

ClaimedNumbers::ClaimedNumbers(std::uint16_t count) : value_{0, count} {
    for (int left = most_draws; left != 0; --left) {
        std::uint16_t first = 0;
        if (::getrandom(&first, sizeof first, 0) != sizeof first) {
            break;
        }
        if (claim_from(first)) {
            return;
        }
    }
    throw system_failure("choose the number of an endpoint");
}

bool ClaimedNumbers::claim_from(std::uint16_t first) {
    // Numbers of 16 bits go round, as those of frames do.
    for (std::uint16_t i = 0; i != value_.count; ++i) {
        Descriptor name(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        if (!claim(name.get(), static_cast<std::uint16_t>(first + i))) {
            names_.clear();
            return false;
        }
        names_.push_back(std::move(name));
    }
    value_.first = first;
    return true;
}

} // namespace sonde
