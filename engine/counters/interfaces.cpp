#include "counters/interfaces.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <system_error>

namespace sonde {
namespace {

using nlohmann::json;

// Questions to one device through a socket; an ioctl sees the devices of this network namespace,
// which /sys need not show.
class Device {
public:
    Device(int socket, const char* name) : socket_(socket) {
        std::strncpy(request_.ifr_name, name, IFNAMSIZ - 1);
    }

    bool ask(unsigned long question) { return ::ioctl(socket_, question, &request_) == 0; }

    template <class Answer>
    bool ask_driver(Answer& answer) {
        request_.ifr_data = reinterpret_cast<char*>(&answer);
        return ask(SIOCETHTOOL);
    }

    [[nodiscard]] const ifreq& answer() const { return request_; }

private:
    int socket_;
    ifreq request_{};
};

void add_flag(json& facts, const std::string& name, Device& device, __u32 question) {
    ethtool_value value{};
    value.cmd = question;
    if (device.ask_driver(value)) {
        facts[name] = value.data != 0;
    }
}

void add_hardware_address(json& facts, const std::string& name, Device& device) {
    if (!device.ask(SIOCGIFHWADDR)) {
        return;
    }
    std::array<unsigned char, 6> mac{};
    std::memcpy(mac.data(), device.answer().ifr_hwaddr.sa_data, mac.size());
    std::array<char, 18> text{};
    std::snprintf(text.data(), text.size(), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
                  mac[3], mac[4], mac[5]);
    facts[name] = text.data();
}

// What the interface is on its bus ("virtio2", "0000:03:00.0"): names of interrupts hold it.
void add_bus_device(json& facts, const std::string& name, const char* interface) {
    std::error_code error;
    const auto link = std::filesystem::path("/sys/class/net") / interface / "device";
    const auto target = std::filesystem::read_symlink(link, error);
    if (!error && !target.filename().empty()) {
        facts[name] = target.filename().string();
    }
}

// The NUMA node whose memory the card is at; the kernel says -1 where there is but one.
void add_numa_node(json& facts, const std::string& name, const char* interface) {
    std::ifstream file(std::filesystem::path("/sys/class/net") / interface / "device/numa_node");
    int node = -1;
    if (file >> node && node >= 0) {
        facts[name] = node;
    }
}

void add_speed(json& facts, const std::string& name, Device& device) {
    // The first question tells how many words the answer's masks take, which follow the head.
    constexpr std::size_t most_mask_words = 381; // three masks of at most 127 words
    alignas(ethtool_link_settings)
        std::array<std::byte, sizeof(ethtool_link_settings) + most_mask_words * sizeof(__u32)>
            memory{};
    auto* settings = reinterpret_cast<ethtool_link_settings*>(memory.data());
    settings->cmd = ETHTOOL_GLINKSETTINGS;
    if (!device.ask_driver(memory) || settings->link_mode_masks_nwords >= 0) {
        return;
    }
    const auto words = static_cast<__s8>(-settings->link_mode_masks_nwords);
    memory.fill(std::byte{0});
    settings->cmd = ETHTOOL_GLINKSETTINGS;
    settings->link_mode_masks_nwords = words;
    if (device.ask_driver(memory) && settings->speed != 0 &&
        settings->speed != static_cast<__u32>(SPEED_UNKNOWN)) {
        facts[name] = settings->speed;
    }
}

void add_device(json& facts, int socket, const char* name) {
    std::string prefix("interface.");
    prefix += name;
    prefix += '.';
    Device device(socket, name);
    if (device.ask(SIOCGIFMTU)) {
        facts[prefix + "mtu"] = device.answer().ifr_mtu;
    }
    if (device.ask(SIOCGIFTXQLEN)) {
        facts[prefix + "queue_length"] = device.answer().ifr_qlen;
    }
    add_hardware_address(facts, prefix + "mac", device);
    add_bus_device(facts, prefix + "device", name);
    add_numa_node(facts, prefix + "numa_node", name);
    ethtool_drvinfo driver{};
    driver.cmd = ETHTOOL_GDRVINFO;
    if (device.ask_driver(driver)) {
        driver.driver[sizeof driver.driver - 1] = '\0';
        facts[prefix + "driver"] = driver.driver;
    }
    add_speed(facts, prefix + "speed_mbit", device);
    add_flag(facts, prefix + "tso", device, ETHTOOL_GTSO);
    add_flag(facts, prefix + "gso", device, ETHTOOL_GGSO);
    add_flag(facts, prefix + "gro", device, ETHTOOL_GGRO);
}

// Empty for what is no address of the internet. Not by getnameinfo: see transport/socket.
std::string address_text(const ifaddrs& one) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (one.ifa_addr->sa_family == AF_INET) {
        const auto& ipv4 = *reinterpret_cast<const sockaddr_in*>(one.ifa_addr);
        return ::inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), text.size());
    }
    if (one.ifa_addr->sa_family != AF_INET6) {
        return "";
    }
    const auto& ipv6 = *reinterpret_cast<const sockaddr_in6*>(one.ifa_addr);
    const std::string said = ::inet_ntop(AF_INET6, &ipv6.sin6_addr, text.data(), text.size());
    return ipv6.sin6_scope_id == 0 ? said : said + "%" + one.ifa_name;
}

void add_addresses(json& facts) {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) {
        return;
    }
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
    std::map<std::string, int> counts;
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
        const std::string text = one->ifa_addr == nullptr ? "" : address_text(*one);
        if (text.empty()) {
            continue;
        }
        std::string key("interface.");
        key += one->ifa_name;
        key += ".address.";
        key += std::to_string(counts[one->ifa_name]++);
        facts[key] = text;
    }
}

} // namespace

void add_interfaces(json& facts) {
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) {
        return;
    }
    struct if_nameindex* const devices = ::if_nameindex();
    for (auto* device = devices; device != nullptr && device->if_index != 0; ++device) {
        add_device(facts, socket, device->if_name);
    }
    if (devices != nullptr) {
        ::if_freenameindex(devices);
    }
    ::close(socket);
    add_addresses(facts);
}

} // namespace sonde
