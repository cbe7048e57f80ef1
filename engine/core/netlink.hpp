// Tables of the kernel, asked for by netlink, and what its messages consist of.
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>

#include "core/descriptor.hpp"

namespace sonde::netlink {

using Bytes = std::span<const std::byte>;

// A structure of the kernel at the beginning of some bytes; a kernel may add members to it.
template <class Value>
[[nodiscard]] std::optional<Value> value_in(Bytes bytes) {
    if (bytes.size() < sizeof(Value)) {
        return std::nullopt;
    }
    Value value{};
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

// Calls body(type, content) of each attribute, as far as they are whole.
template <class Body>
void for_each_attribute(Bytes bytes, Body body) {
    while (const auto head = value_in<rtattr>(bytes)) {
        if (head->rta_len < sizeof(rtattr) || head->rta_len > bytes.size()) {
            return;
        }
        body(head->rta_type & NLA_TYPE_MASK,
             bytes.subspan(sizeof(rtattr), head->rta_len - sizeof(rtattr)));
        bytes = bytes.subspan(std::min<std::size_t>(RTA_ALIGN(head->rta_len), bytes.size()));
    }
}

// Calls body(head, content) of each message, as far as they are whole and until it returns false,
// which this then returns as well.
template <class Body>
bool for_each_message(Bytes bytes, Body body) {
    while (const auto head = value_in<nlmsghdr>(bytes)) {
        if (head->nlmsg_len < sizeof(nlmsghdr) || head->nlmsg_len > bytes.size()) {
            break;
        }
        if (!body(*head, bytes.subspan(sizeof(nlmsghdr), head->nlmsg_len - sizeof(nlmsghdr)))) {
            return false;
        }
        bytes = bytes.subspan(std::min<std::size_t>(NLMSG_ALIGN(head->nlmsg_len), bytes.size()));
    }
    return true;
}

using Hear = std::function<void(const nlmsghdr& head, Bytes content)>;

// Whose calls wait for a second at most; none where the system gives none, with errno.
[[nodiscard]] Descriptor open_socket() noexcept;

// Hears the answer to a question of this number; see dump().
[[nodiscard]] int hear_table(const Descriptor& socket, std::uint32_t sequence, std::size_t most,
                             const Hear& hear);

// Asks for a table, such as RTM_GETROUTE's, and hears its entries, so many at most. Returns 0, or
// the system's error for an answer that is not whole: E2BIG where there are more, EPERM where the
// kernel refuses. The socket may have more of such an answer to give.
template <class About>
[[nodiscard]] int dump(const Descriptor& socket, std::uint16_t type, const About& about,
                       std::uint32_t sequence, std::size_t most, const Hear& hear) {
    struct {
        nlmsghdr head;
        About about;
    } question{};
    question.head.nlmsg_len = sizeof question;
    question.head.nlmsg_type = type;
    question.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    question.head.nlmsg_seq = sequence;
    question.about = about;
    if (!socket || ::send(socket.get(), &question, sizeof question, 0) < 0) {
        return errno;
    }
    return hear_table(socket, sequence, most, hear);
}

} // namespace sonde::netlink
