#include "worker/meeting.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include "core/clock.hpp"
#include "core/failure.hpp"

namespace sonde {
namespace {

constexpr timespec between_tries{0, 1'000'000};

struct Name {
    sockaddr_un address{};
    socklen_t length = 0;
};

// A name of the kernel's own, without a file: its first character is 0.
Name name_of(const std::string& text) {
    Name name;
    name.address.sun_family = AF_UNIX;
    const std::string whole = "netsonde-" + text;
    std::ranges::copy(whole, std::begin(name.address.sun_path) + 1);
    name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + whole.size());
    return name;
}

Descriptor make_meeting_socket() {
    Descriptor fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) {
        throw system_failure("make a socket for a meeting");
    }
    return fd;
}

bool is_ours(const Descriptor& fd) {
    ucred other{};
    socklen_t size = sizeof other;
    return ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 &&
           other.uid == ::geteuid();
}

} // namespace

struct Meeting::Word {
    std::uint64_t round = 0; // so many have ended
    std::int64_t start_ns = 0;
    std::uint64_t more = 0;
};

Meeting::Meeting(const MeetingParameters& parameters, std::uint64_t rounds,
                 const Deadline& deadline)
    : parameters_(parameters), rounds_(rounds), deadline_(deadline) {
    if (parameters_.leads) {
        wait_for_members();
    } else {
        find_leader();
    }
}

void Meeting::wait_for_members() {
    const auto wanted = static_cast<std::size_t>(parameters_.members - 1);
    if (wanted == 0) {
        return;
    }
    const Descriptor listener = make_meeting_socket();
    const Name name = name_of(parameters_.name);
    const auto* address = reinterpret_cast<const sockaddr*>(&name.address);
    if (::bind(listener.get(), address, name.length) != 0 ||
        ::listen(listener.get(), parameters_.members) != 0) {
        throw system_failure("listen for the other flows' targets");
    }
    while (others_.size() < wanted) {
        deadline_.await(listener.get(), POLLIN, "the other flows' targets");
        Descriptor other(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (other && is_ours(other)) {
            others_.push_back(std::move(other));
        }
    }
}

void Meeting::find_leader() {
    const Name name = name_of(parameters_.name);
    const auto* address = reinterpret_cast<const sockaddr*>(&name.address);
    while (true) {
        Descriptor fd = make_meeting_socket();
        if (::connect(fd.get(), address, name.length) == 0) {
            if (!is_ours(fd)) {
                throw Failure("refused", "somebody else answers for the first flow's target");
            }
            others_.push_back(std::move(fd));
            return;
        }
        if (errno != ECONNREFUSED && errno != EAGAIN) {
            throw system_failure("reach the first flow's target");
        }
        if (deadline_.left_ns() <= 0 || deadline_.interrupted()) {
            throw Failure("timeout", "while waiting for the first flow's target");
        }
        ::nanosleep(&between_tries, nullptr);
    }
}

void Meeting::say(const Descriptor& other, const Word& word) const {
    if (::send(other.get(), &word, sizeof word, MSG_NOSIGNAL) !=
        static_cast<ssize_t>(sizeof word)) {
        throw Failure("peer_lost", "the target of another flow is gone");
    }
}

Meeting::Word Meeting::hear(const Descriptor& other) const {
    deadline_.await(other.get(), POLLIN, "the targets of the other flows");
    Word word;
    if (::recv(other.get(), &word, sizeof word, 0) != static_cast<ssize_t>(sizeof word) ||
        word.round != ended_) {
        throw Failure("peer_lost", "the target of another flow is gone");
    }
    return word;
}

Meeting::Word Meeting::decide() {
    const std::int64_t now_ns = monotonic_ns();
    if (ended_ == 1) {
        first_ended_ns_ = now_ns;
    }
    const bool more = ended_ < rounds_ && now_ns - first_ended_ns_ < parameters_.most_ns;
    return {ended_, host_clock_ns(now_ns) + parameters_.lead_ns, more ? 1U : 0U};
}

std::optional<std::int64_t> Meeting::next_round() {
    ++ended_;
    Word word;
    if (parameters_.leads) {
        for (const Descriptor& other : others_) {
            word = hear(other);
        }
        word = decide();
        for (const Descriptor& other : others_) {
            say(other, word);
        }
    } else {
        say(others_.front(), {ended_, 0, 0});
        word = hear(others_.front());
    }
    return word.more != 0 ? std::optional(word.start_ns) : std::nullopt;
}

} // namespace sonde
