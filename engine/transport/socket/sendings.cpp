#include "transport/socket/sendings.hpp"

#include <fcntl.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "transport/socket/sockets.hpp"

namespace sonde {

namespace {

constexpr std::uint64_t reap_every = 32;
constexpr std::int64_t last_completions_ns = 2'000'000'000;

} // namespace

void FileSending::keep(std::span<const std::byte> message) {
    file_ = Descriptor(::memfd_create("netsonde-message", MFD_CLOEXEC));
    if (!file_) {
        throw system_failure("make a file in memory to send from");
    }
    std::size_t done = 0;
    while (done < message.size()) {
        const ssize_t written = ::write(file_.get(), message.data() + done, message.size() - done);
        if (written < 0) {
            throw system_failure("fill the file to send from");
        }
        done += static_cast<std::size_t>(written);
    }
    first_ = message.front();
}

ssize_t FileSending::send(int fd, std::span<const std::byte> message, std::size_t at,
                          std::size_t bytes, int flags) {
    if (!file_) {
        keep(message);
    }
    if (message.front() != first_) {
        return CopySending::send(fd, message, at, bytes, flags);
    }
    auto place = static_cast<off_t>(at);
    return ::sendfile(fd, file_.get(), &place, bytes);
}

StoredFile::StoredFile(const std::string& path, std::size_t message_bytes)
    : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (!fd_) {
        throw system_failure("open " + path);
    }
    struct stat is {};
    if (::fstat(fd_.get(), &is) != 0) {
        throw system_failure("look at " + path);
    }
    bytes_ = S_ISREG(is.st_mode) ? static_cast<std::size_t>(is.st_size) : 0;
    if (bytes_ < message_bytes || bytes_ == 0) {
        throw Failure("bad_request", path + " is no file of at least " +
                                         std::to_string(message_bytes) +
                                         " bytes, the size of a message");
    }
}

bool StoredFileSending::tells_by_itself(std::byte first) const {
    std::byte there{};
    return ::pread(file_.fd(), &there, 1, static_cast<off_t>(begin_)) == 1 && there == first;
}

ssize_t StoredFileSending::send(int fd, std::span<const std::byte> message, std::size_t at,
                                std::size_t bytes, int flags) {
    const ssize_t sent = send_piece(fd, message, at, bytes, flags);
    if (sent > 0 && at + static_cast<std::size_t>(sent) == message.size()) {
        begin_ += message.size();
        begin_ = begin_ + message.size() > file_.bytes() ? 0 : begin_;
    }
    return sent;
}

ssize_t StoredFileSending::send_piece(int fd, std::span<const std::byte> message, std::size_t at,
                                      std::size_t bytes, int flags) {
    if (at == 0 && !tells_by_itself(message.front())) {
        const int more = message.size() > 1 ? MSG_MORE : 0;
        return ::send(fd, message.data(), 1, MSG_NOSIGNAL | more | flags);
    }
    auto place = static_cast<off_t>(begin_ + at);
    const ssize_t sent = ::sendfile(fd, file_.fd(), &place, bytes);
    if (sent == 0) {
        throw Failure("system", "the file that is sent became shorter meanwhile");
    }
    return sent;
}

ZeroCopySending::ZeroCopySending(int fd) : fd_(fd) {
    set_flag(fd, SOL_SOCKET, SO_ZEROCOPY, "ask for sending without a copy (SO_ZEROCOPY)");
}

ssize_t ZeroCopySending::send(int fd, std::span<const std::byte> message, std::size_t at,
                              std::size_t bytes, int flags) {
    if (kept_.empty()) {
        kept_.assign(message.begin(), message.end());
    }
    if (message.front() != kept_.front()) {
        return CopySending::send(fd, message, at, bytes, flags);
    }
    ssize_t sent = -1;
    while ((sent = ::send(fd, kept_.data() + at, bytes, MSG_NOSIGNAL | MSG_ZEROCOPY | flags)) < 0 &&
           errno == ENOBUFS) { // too many that the kernel still needs
        pollfd one{fd, 0, 0};  // errors are always reported
        ::poll(&one, 1, 1);
        reap(fd);
    }
    if (sent >= 0 && ++asked_ % reap_every == 0) {
        const int error = errno;
        reap(fd);
        errno = error;
    }
    return sent;
}

// Takes what the kernel has said of finished calls; each word is of a range of them.
void ZeroCopySending::reap(int fd) {
    while (true) {
        alignas(cmsghdr) std::array<char, 128> extra{};
        msghdr message{};
        message.msg_control = extra.data();
        message.msg_controllen = extra.size();
        if (::recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
            return;
        }
        const cmsghdr* header = CMSG_FIRSTHDR(&message);
        if (header == nullptr) {
            continue;
        }
        sock_extended_err said{};
        std::memcpy(&said, CMSG_DATA(header), sizeof said);
        if (said.ee_origin != SO_EE_ORIGIN_ZEROCOPY) {
            continue;
        }
        const std::uint64_t calls = std::uint64_t{said.ee_data - said.ee_info} + 1;
        done_ += calls;
        copied_ += (said.ee_code & SO_EE_CODE_ZEROCOPY_COPIED) != 0 ? calls : 0;
    }
}

std::map<std::string, std::uint64_t> ZeroCopySending::counted() {
    const std::int64_t end_ns = monotonic_ns() + last_completions_ns;
    while (done_ < asked_ && monotonic_ns() < end_ns) {
        pollfd one{fd_, 0, 0};
        ::poll(&one, 1, 1);
        reap(fd_);
    }
    return {{"zerocopy_calls", asked_}, {"zerocopy_finished", done_}, {"zerocopy_copied", copied_}};
}

} // namespace sonde
