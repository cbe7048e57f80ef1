#include "transport/socket/numeric_address.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

namespace sonde {
namespace {

// Addresses that mean something on one link only; others have no device behind their scope.
bool is_of_a_link(const in6_addr& address) {
    return IN6_IS_ADDR_LINKLOCAL(&address) || IN6_IS_ADDR_MC_LINKLOCAL(&address);
}

std::optional<std::uint32_t> read_scope(const in6_addr& address, const std::string& scope) {
    const unsigned device = is_of_a_link(address) ? ::if_nametoindex(scope.c_str()) : 0;
    if (device != 0) {
        return device;
    }
    std::uint32_t number = 0;
    const char* const end = scope.data() + scope.size();
    const auto [stop, error] = std::from_chars(scope.data(), end, number);
    return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

std::string scope_text(const sockaddr_in6& address) {
    std::array<char, IF_NAMESIZE> name{};
    if (is_of_a_link(address.sin6_addr) &&
        ::if_indextoname(address.sin6_scope_id, name.data()) != nullptr) {
        return name.data();
    }
    return std::to_string(address.sin6_scope_id);
}

bool read_ipv6(const std::string& text, sockaddr_in6& into) {
    const std::size_t percent = std::min(text.find('%'), text.size());
    if (::inet_pton(AF_INET6, text.substr(0, percent).c_str(), &into.sin6_addr) != 1) {
        return false;
    }
    if (percent == text.size()) {
        return true;
    }
    const auto scope = read_scope(into.sin6_addr, text.substr(percent + 1));
    into.sin6_scope_id = scope.value_or(0);
    return scope.has_value();
}

} // namespace

bool read_address(sa_family_t family, const std::string& text, sockaddr_storage& into) {
    into = {};
    into.ss_family = family;
    if (text.find('\0') != std::string::npos) { // what stands behind it would be lost
        return false;
    }
    if (family == AF_INET) {
        return ::inet_pton(AF_INET, text.c_str(), &reinterpret_cast<sockaddr_in&>(into).sin_addr) ==
               1;
    }
    return read_ipv6(text, reinterpret_cast<sockaddr_in6&>(into));
}

std::string address_text(const sockaddr* address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address->sa_family == AF_INET) {
        const auto& ipv4 = *reinterpret_cast<const sockaddr_in*>(address);
        return ::inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), text.size());
    }
    if (address->sa_family != AF_INET6) {
        return "";
    }
    const auto& ipv6 = *reinterpret_cast<const sockaddr_in6*>(address);
    std::string said = ::inet_ntop(AF_INET6, &ipv6.sin6_addr, text.data(), text.size());
    return ipv6.sin6_scope_id == 0 ? said : said + "%" + scope_text(ipv6);
}

} // namespace sonde
