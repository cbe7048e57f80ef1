#include "tracer/driver_counters.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace sonde {
namespace {

constexpr std::uint32_t most_statistics = 8192;

bool ask(int socket, const std::string& interface, void* question) {
    ifreq request{};
    std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
    request.ifr_data = static_cast<char*>(question);
    return ::ioctl(socket, SIOCETHTOOL, &request) == 0;
}

// Memory for one of ethtool's structures and what follows it.
class Answer {
public:
    explicit Answer(std::size_t bytes) : memory_((bytes + 7) / 8) {}
    template <class Structure>
    Structure* as() {
        return reinterpret_cast<Structure*>(memory_.data());
    }

private:
    std::vector<std::uint64_t> memory_;
};

// A driver's name for a statistic as one word.
std::string word_of(const char* text) {
    std::string name(text, ::strnlen(text, ETH_GSTRING_LEN));
    name.erase(0, name.find_first_not_of(' '));
    std::ranges::replace_if(
        name, [](unsigned char c) { return std::isgraph(c) == 0 || c == '='; }, '_');
    return name;
}

std::uint32_t count_statistics(int socket, const std::string& interface) {
    Answer answer(sizeof(ethtool_sset_info) + sizeof(std::uint32_t));
    auto* info = answer.as<ethtool_sset_info>();
    info->cmd = ETHTOOL_GSSET_INFO;
    info->sset_mask = std::uint64_t{1} << static_cast<unsigned>(ETH_SS_STATS);
    if (!ask(socket, interface, info) || info->sset_mask == 0) {
        return 0;
    }
    return std::min(info->data[0], most_statistics);
}

} // namespace

bool DriverCounters::learn(const std::string& interface, Known& known) {
    const unsigned index = ::if_nametoindex(interface.c_str());
    if (index == 0) {
        return false;
    }
    if (known.index == index) {
        return true;
    }
    known = {index, {}};
    const std::uint32_t count = count_statistics(socket_.get(), interface);
    if (count == 0) {
        return true;
    }
    Answer answer(sizeof(ethtool_gstrings) + std::size_t{count} * ETH_GSTRING_LEN);
    auto* strings = answer.as<ethtool_gstrings>();
    strings->cmd = ETHTOOL_GSTRINGS;
    strings->string_set = ETH_SS_STATS;
    strings->len = count;
    if (!ask(socket_.get(), interface, strings)) {
        return true;
    }
    const char* const text = reinterpret_cast<const char*>(strings->data);
    for (std::uint32_t i = 0; i < std::min(strings->len, count); ++i) {
        known.names.push_back("driver." + interface + "." +
                              word_of(text + std::size_t{i} * ETH_GSTRING_LEN));
    }
    return true;
}

std::string DriverCounters::read(const std::vector<std::string>& interfaces,
                                 CounterValues& values) {
    if (!socket_) {
        socket_ = Descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    }
    if (!socket_) {
        return std::string("drivers cannot be asked: ") + std::strerror(errno);
    }
    std::erase_if(known_, [&](const auto& entry) {
        return std::ranges::find(interfaces, entry.first) == interfaces.end();
    });
    for (const std::string& interface : interfaces) {
        Known& known = known_[interface];
        if (!learn(interface, known) || known.names.empty()) {
            continue;
        }
        const std::size_t count = known.names.size();
        Answer answer(sizeof(ethtool_stats) + count * sizeof(std::uint64_t));
        auto* statistics = answer.as<ethtool_stats>();
        statistics->cmd = ETHTOOL_GSTATS;
        statistics->n_stats = static_cast<std::uint32_t>(count);
        // A driver that has more of them by now would write behind the end.
        if (count_statistics(socket_.get(), interface) != count) {
            known.index = 0;
            continue;
        }
        if (!ask(socket_.get(), interface, statistics)) {
            continue;
        }
        const auto* const numbers = reinterpret_cast<const std::uint64_t*>(statistics->data);
        for (std::size_t i = 0; i < count; ++i) {
            values[known.names[i]] = static_cast<std::int64_t>(numbers[i]);
        }
    }
    return "";
}

} // namespace sonde
