#include "emulator/control.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/failure.hpp"

namespace sonde {

namespace {

constexpr int answer_timeout_ms = 30'000;

struct AbstractAddress {
    sockaddr_un address{};
    socklen_t size = 0;
};

AbstractAddress control_address() {
    constexpr std::string_view name("\0netsonde-switch", 16);
    AbstractAddress result;
    result.address.sun_family = AF_UNIX;
    std::copy(name.begin(), name.end(), std::begin(result.address.sun_path));
    result.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    return result;
}

bool same_user(int fd) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 &&
           credentials.uid == ::geteuid();
}

// Bytes of a connection and the descriptor that came along, if one did.
ssize_t receive(int fd, std::span<char> room, Descriptor& passed) {
    iovec part{room.data(), room.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> extra{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = extra.data();
    message.msg_controllen = extra.size();
    const ssize_t got = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); got > 0 && header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(header), sizeof number);
            passed = Descriptor(number);
        }
    }
    return got;
}

void send_line(int fd, const std::string& line, int passed) {
    iovec part{const_cast<char*>(line.data()), line.size()}; // NOLINT: the interface is not const
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> extra{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (passed >= 0) {
        message.msg_control = extra.data();
        message.msg_controllen = extra.size();
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(header), &passed, sizeof passed);
    }
    if (::sendmsg(fd, &message, MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
        throw system_failure("send a request to the switch");
    }
}

bool send_whole(int fd, const std::string& text) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t sent = ::send(fd, text.data() + done, text.size() - done, MSG_NOSIGNAL);
        if (sent < 0) {
            return false;
        }
        done += static_cast<std::size_t>(sent);
    }
    return true;
}

} // namespace

ControlServer::ControlServer(std::map<std::string, ControlHandler> handlers)
    : handlers_(std::move(handlers)),
      listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      wake_(::eventfd(0, EFD_CLOEXEC)) {
    const AbstractAddress address = control_address();
    if (!listener_ || !wake_ ||
        ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address.address),
               address.size) != 0 ||
        ::listen(listener_.get(), most_connections) != 0) {
        throw system_failure("open the switch's control socket");
    }
    thread_ = std::thread([this] { serve(); });
}

ControlServer::~ControlServer() {
    stop_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
    thread_.join();
}

void ControlServer::serve() {
    while (!stop_) {
        std::vector<pollfd> fds{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
        for (const auto& connection : connections_) {
            fds.push_back({connection->fd.get(), POLLIN, 0});
        }
        if (::poll(fds.data(), fds.size(), -1) < 0) {
            continue;
        }
        for (std::size_t i = connections_.size(); i-- > 0;) {
            if (fds[i + 2].revents != 0 && !hear(*connections_[i])) {
                connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
        if (fds[1].revents != 0) {
            admit();
        }
    }
}

void ControlServer::admit() {
    Descriptor fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd || connections_.size() >= most_connections || !same_user(fd.get())) {
        return;
    }
    timeval patience{answer_timeout_ms / 1000, 0}; // a client that does not read is given up
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    connections_.push_back(std::make_unique<Connection>());
    connections_.back()->fd = std::move(fd);
}

// False where the connection is over.
bool ControlServer::hear(Connection& connection) {
    std::array<char, 65536> piece{};
    const ssize_t got = receive(connection.fd.get(), piece, connection.client.passed);
    if (got <= 0) {
        return got < 0 && errno == EINTR;
    }
    connection.heard.append(piece.data(), static_cast<std::size_t>(got));
    std::size_t end = 0;
    while ((end = connection.heard.find('\n')) != std::string::npos) {
        const std::string line = connection.heard.substr(0, end);
        connection.heard.erase(0, end + 1);
        if (!send_whole(connection.fd.get(), answer(line, connection.client) + "\n")) {
            return false;
        }
    }
    if (connection.heard.size() <= request_line_limit_bytes) {
        return true;
    }
    const std::string said =
        "a request is longer than " + std::to_string(request_line_limit_bytes) + " bytes";
    send_whole(connection.fd.get(),
               nlohmann::json{{"request", 0}, {"error", said}, {"code", "bad_request"}}.dump() +
                   "\n");
    return false;
}

std::string ControlServer::answer(const std::string& line, ControlClient& client) {
    using nlohmann::json;
    std::int64_t id = 0;
    try {
        Request request = parse_request(line, id);
        const auto handler = handlers_.find(request.verb);
        if (handler == handlers_.end()) {
            throw Failure("bad_request", "the switch does not know the verb " + request.verb);
        }
        return json{{"request", id}, {"done", handler->second(request, client)}}.dump();
    } catch (const Failure& failure) {
        return json{{"request", id}, {"error", failure.what()}, {"code", failure.code()}}.dump(
            -1, ' ', false, json::error_handler_t::replace);
    } catch (const std::exception& error) {
        return json{{"request", id}, {"error", error.what()}, {"code", "internal"}}.dump(
            -1, ' ', false, json::error_handler_t::replace);
    }
}

int ask_switch(bool pass_output) {
    const Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const AbstractAddress address = control_address();
    if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.address),
                         address.size) != 0) {
        throw Failure("refused", "no switch answers in this network namespace");
    }
    std::array<pollfd, 2> fds{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{fd.get(), POLLIN, 0}};
    std::array<char, 65536> piece{};
    const int answers = pass_output ? STDERR_FILENO : STDOUT_FILENO;
    int passed = pass_output ? STDOUT_FILENO : -1;
    while (true) {
        ::poll(fds.data(), fds.size(), -1);
        if (fds[1].revents != 0) {
            const ssize_t got = ::recv(fd.get(), piece.data(), piece.size(), 0);
            if (got <= 0) {
                return 0;
            }
            if (::write(answers, piece.data(), static_cast<std::size_t>(got)) != got) {
                return 1;
            }
        }
        if (fds[0].revents != 0) {
            const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
            if (got <= 0) {
                ::shutdown(fd.get(), SHUT_WR); // what was asked is still answered
                fds[0].fd = -1;
                continue;
            }
            send_line(fd.get(), std::string(piece.data(), static_cast<std::size_t>(got)), passed);
            passed = -1;
        }
    }
}

} // namespace sonde
