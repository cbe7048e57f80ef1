#include "transport/socket/uring.hpp"

#include "core/failure.hpp"
#include "transport/socket/options.hpp"

#if __has_include(<linux/io_uring.h>)

#include <linux/io_uring.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace sonde {
namespace {

// Since Linux 5.7 a socket that is not ready costs no thread; since 5.17, where CQE_SKIP came, a
// piece that comes short surely breaks the chain behind it.
constexpr unsigned needed_feature = IORING_FEAT_FAST_POLL;
constexpr unsigned safe_chains_feature = 1U << 11U; // IORING_FEAT_CQE_SKIP
constexpr unsigned no_interrupts = 1U << 8U;        // IORING_SETUP_COOP_TASKRUN, Linux 5.19

// The kernel lacks memory, or its queue of completions is full: for a moment.
constexpr int most_refusals = 1'000;

bool may_pass(int error) noexcept {
    if (error != EAGAIN && error != EBUSY) {
        return false;
    }
    ::poll(nullptr, 0, 1);
    errno = error;
    return true;
}

int kernel_setup(unsigned entries, void* parameters) {
    return static_cast<int>(::syscall(SYS_io_uring_setup, entries, parameters));
}

int make_ring(UringSetup setup, io_uring_params& parameters) {
    parameters = {};
    parameters.flags = no_interrupts;
    int ring = setup(Uring::entries, &parameters);
    if (ring < 0 && errno == EINVAL) { // an older kernel
        parameters = {};
        ring = setup(Uring::entries, &parameters);
    }
    return ring;
}

std::string explained(int error, std::optional<int> disabled) {
    if (error == ENOSYS) {
        return "this kernel has none";
    }
    if (error == EPERM && disabled.value_or(0) != 0) {
        return "it is switched off here (kernel.io_uring_disabled is " + std::to_string(*disabled) +
               ")";
    }
    if (error == EPERM) {
        return "this process is not permitted to use it (a container's or a sandbox's rule)";
    }
    return std::strerror(error);
}

std::optional<int> disabled_setting() {
    std::ifstream file("/proc/sys/kernel/io_uring_disabled");
    int value = 0;
    return file >> value ? std::optional<int>(value) : std::nullopt;
}

Failure refused(const std::string& why) {
    return {"system", "io_uring cannot be used on this host: " + why + "; measure without --uring"};
}

std::uint32_t* number_at(std::byte* place) { return reinterpret_cast<std::uint32_t*>(place); }

} // namespace

std::optional<std::string> uring_refusal(UringSetup setup, std::optional<int> disabled) {
    io_uring_params parameters{};
    const Descriptor ring(make_ring(setup, parameters));
    if (!ring) {
        return explained(errno, disabled);
    }
    if ((parameters.features & needed_feature) == 0) {
        return "this kernel's is older than that of Linux 5.7";
    }
    return std::nullopt;
}

std::optional<std::string> uring_refusal() {
    return uring_refusal(kernel_setup, disabled_setting());
}

void require_uring(const SocketOptions& options) {
    if (options.sending != SendingWay::uring) {
        return;
    }
    if (const auto why = uring_refusal()) {
        throw refused(*why);
    }
}

Uring::Mapping::Mapping(int fd, std::size_t bytes, std::uint64_t offset) : bytes_(bytes) {
    void* found = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
                         static_cast<off_t>(offset));
    if (found == MAP_FAILED) {
        throw system_failure("map the rings of io_uring");
    }
    begin_ = static_cast<std::byte*>(found);
}

Uring::Mapping::~Mapping() {
    if (begin_ != nullptr) {
        ::munmap(begin_, bytes_);
    }
}

Uring::Mapping::Mapping(Mapping&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(other.bytes_) {}

Uring::Mapping& Uring::Mapping::operator=(Mapping&& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Uring::Uring(int fd) : fd_(fd) {
    io_uring_params parameters{};
    ring_ = Descriptor(make_ring(kernel_setup, parameters));
    if (!ring_) {
        throw refused(explained(errno, disabled_setting()));
    }
    most_linked_ = (parameters.features & safe_chains_feature) != 0 ? entries : 1;
    const auto& sq = parameters.sq_off;
    const auto& cq = parameters.cq_off;
    submissions_ = Mapping(ring_.get(), sq.array + parameters.sq_entries * sizeof(std::uint32_t),
                           IORING_OFF_SQ_RING);
    completions_ = Mapping(ring_.get(), cq.cqes + parameters.cq_entries * sizeof(io_uring_cqe),
                           IORING_OFF_CQ_RING);
    requests_ = Mapping(ring_.get(), parameters.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
    submission_tail_ = number_at(submissions_.at(sq.tail));
    submission_places_ = number_at(submissions_.at(sq.array));
    submission_mask_ = *number_at(submissions_.at(sq.ring_mask));
    completion_head_ = number_at(completions_.at(cq.head));
    completion_tail_ = number_at(completions_.at(cq.tail));
    completion_mask_ = *number_at(completions_.at(cq.ring_mask));
    completion_entries_ = completions_.at(cq.cqes);
}

Uring::~Uring() = default; // nothing is under way: move() returns only when all has completed

Uring::Moved Uring::send(std::span<const std::byte> from, std::size_t call_bytes) {
    return move(IORING_OP_SEND, reinterpret_cast<std::uintptr_t>(from.data()), from.size(),
                call_bytes);
}

Uring::Moved Uring::receive(std::span<std::byte> into, std::size_t call_bytes) {
    return move(IORING_OP_RECV, reinterpret_cast<std::uintptr_t>(into.data()), into.size(),
                call_bytes);
}

Uring::Moved Uring::move(std::uint8_t operation, std::uintptr_t begin, std::size_t bytes,
                         std::size_t call_bytes) {
    const std::size_t wanted = (bytes + call_bytes - 1) / call_bytes;
    const auto pieces = static_cast<unsigned>(std::min<std::size_t>(wanted, most_linked_));
    for (unsigned i = 0; i < pieces; ++i) {
        const std::size_t at = i * call_bytes;
        ask(operation, begin + at, std::min(call_bytes, bytes - at), i + 1 < pieces, i);
    }
    hand_over_and_await(pieces);
    Moved moved;
    for (unsigned i = 0; i < pieces; ++i) {
        const std::int32_t result = results_[i];
        if (result <= 0) {
            // The pieces behind one that came short or failed are cancelled.
            moved.error = result == -ECANCELED && i > 0 ? 0 : -result;
            moved.ended = result == 0;
            break;
        }
        const auto length = static_cast<std::size_t>(result);
        moved.bytes += length;
        if (length < std::min(call_bytes, bytes - i * call_bytes)) {
            break;
        }
    }
    return moved;
}

void Uring::ask(std::uint8_t operation, std::uintptr_t begin, std::size_t bytes, bool linked,
                unsigned number) noexcept {
    const std::uint32_t tail = *submission_tail_ + number; // only this thread writes it
    const std::uint32_t place = tail & submission_mask_;
    io_uring_sqe request{};
    request.opcode = operation;
    request.flags = linked ? IOSQE_IO_LINK : 0;
    request.fd = fd_;
    request.addr = begin;
    request.len = static_cast<std::uint32_t>(bytes);
    request.msg_flags = MSG_NOSIGNAL | MSG_WAITALL;
    request.user_data = number;
    std::memcpy(requests_.at(place * sizeof request), &request, sizeof request);
    submission_places_[place] = place;
    results_[number] = 0;
}

// Comes back only when every piece has completed: the kernel reads or writes the message until
// then.
void Uring::hand_over_and_await(unsigned pieces) {
    const std::uint32_t tail = *submission_tail_ + pieces;
    std::atomic_ref(*submission_tail_).store(tail, std::memory_order_release);
    operations_ += pieces;
    unsigned to_submit = pieces;
    unsigned expected = pieces;
    unsigned completed = 0;
    int error = 0;
    int refusals = 0;
    while (completed < expected) {
        const long done = ::syscall(SYS_io_uring_enter, ring_.get(), to_submit,
                                    expected - completed, IORING_ENTER_GETEVENTS, nullptr, 0);
        ++calls_;
        if (done >= 0) {
            to_submit -= std::min(to_submit, static_cast<unsigned>(done));
        } else if (errno != EINTR && (!may_pass(errno) || ++refusals > most_refusals)) {
            // What the kernel has taken already ends with the socket, and is waited for.
            error = errno;
            ::shutdown(fd_, SHUT_RDWR);
            expected = pieces - std::exchange(to_submit, 0U);
        }
        completed += take_completions();
    }
    if (error != 0) {
        throw system_failure("hand a message to io_uring", error);
    }
}

unsigned Uring::take_completions() noexcept {
    std::uint32_t head = *completion_head_; // only this thread writes it
    const std::uint32_t tail = std::atomic_ref(*completion_tail_).load(std::memory_order_acquire);
    const unsigned found = tail - head;
    for (; head != tail; ++head) {
        io_uring_cqe completion{};
        std::memcpy(&completion,
                    completion_entries_ + (head & completion_mask_) * sizeof completion,
                    sizeof completion);
        results_[completion.user_data % entries] = completion.res;
    }
    std::atomic_ref(*completion_head_).store(head, std::memory_order_release);
    return found;
}

} // namespace sonde

#else // built where the kernel's headers know no io_uring

namespace sonde {
namespace {

constexpr const char* no_header = "this worker was built without the header linux/io_uring.h";

} // namespace

std::optional<std::string> uring_refusal(UringSetup /*setup*/, std::optional<int> /*disabled*/) {
    return no_header;
}

std::optional<std::string> uring_refusal() { return no_header; }

void require_uring(const SocketOptions& options) {
    if (options.sending == SendingWay::uring) {
        throw Failure("system", "io_uring cannot be used on this host: " + std::string(no_header) +
                                    "; measure without --uring");
    }
}

Uring::Mapping::Mapping(int /*fd*/, std::size_t /*bytes*/, std::uint64_t /*offset*/) {}
Uring::Mapping::~Mapping() = default;
Uring::Uring(int fd) : fd_(fd) { throw Failure("system", no_header); }
Uring::~Uring() = default;
Uring::Moved Uring::send(std::span<const std::byte> /*from*/, std::size_t /*call_bytes*/) {
    return {};
}
Uring::Moved Uring::receive(std::span<std::byte> /*into*/, std::size_t /*call_bytes*/) {
    return {};
}

} // namespace sonde

#endif
