#include "emulator/switch_loop.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "core/affinity.hpp"
#include "core/clock.hpp"
#include "core/failure.hpp"
#include "emulator/tap.hpp"

namespace sonde {

namespace {

constexpr std::uint32_t wake_mark = UINT32_MAX;
constexpr std::int64_t longest_sleep_ns = 1'000'000'000;

std::int64_t unix_now_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// With a VLAN tag, which the MTU does not count.
std::size_t frame_room(const Topology& topology) {
    constexpr std::int64_t vlan_tag_bytes = 4;
    return static_cast<std::size_t>(topology.most_mtu_bytes() + vlan_tag_bytes) +
           frame_header_bytes;
}

void watch(int poll, int fd, std::uint32_t events, std::uint32_t mark) {
    epoll_event event{};
    event.events = events;
    event.data.u32 = mark;
    if (::epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) != 0) {
        throw system_failure("watch a TAP device");
    }
}

} // namespace

SwitchLoop::SwitchLoop(const Topology& topology, std::vector<Descriptor> taps,
                       const LoopSettings& settings)
    : settings_(settings),
      frames_(frame_room(topology), static_cast<std::size_t>(settings.pool_bytes)),
      fabric_(topology, frames_, *this), lateness_(settings.late_limit_ns),
      poll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!poll_ || !wake_) {
        throw system_failure("make the switch's event descriptors");
    }
    for (Descriptor& fd : taps) {
        taps_.push_back({std::move(fd), true, false, true, nullptr});
    }
    watch_all();
    start_ns_ = monotonic_ns();
    start_unix_ns_ = unix_now_ns();
}

void SwitchLoop::watch_all() {
    watch(poll_.get(), wake_.get(), EPOLLIN, wake_mark);
    for (std::size_t host = 0; host < taps_.size(); ++host) {
        // Edges, because a host that is not read for a while must not keep the loop awake.
        watch(poll_.get(), taps_[host].fd.get(), EPOLLIN | EPOLLET,
              static_cast<std::uint32_t>(host));
    }
}

VirtualTime SwitchLoop::virtual_now() const noexcept { return from_ns(monotonic_ns() - start_ns_); }

std::int64_t SwitchLoop::unix_ns(VirtualTime at) const noexcept {
    return start_unix_ns_ + to_ns(at);
}

void SwitchLoop::prepare_thread() {
    // The default slack of 50 us would make every timed wake-up that late.
    ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    if (settings_.cpu) {
        pin_to_cpu(*settings_.cpu);
    }
    if (settings_.awake) {
        const std::int32_t none_us = 0;
        latency_wish_ = Descriptor(::open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC));
        if (!latency_wish_ ||
            ::write(latency_wish_.get(), &none_us, sizeof none_us) != sizeof none_us) {
            throw system_failure("keep the CPUs awake (needs /dev/cpu_dma_latency and root)");
        }
    }
    if (settings_.priority > 0) {
        sched_param parameters{};
        parameters.sched_priority = settings_.priority;
        if (::sched_setscheduler(0, SCHED_FIFO, &parameters) != 0) {
            throw system_failure("give the switch real-time priority (needs root)");
        }
    }
}

void SwitchLoop::run() {
    try {
        prepare_thread();
        while (!stop_) {
            pass();
        }
    } catch (...) {
        refuse_calls();
        throw;
    }
    refuse_calls();
}

void SwitchLoop::stop() noexcept {
    stop_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void SwitchLoop::pass() {
    ++counted_.passes;
    wait_for_more();
    if (called_) {
        do_calls();
    }
    const VirtualTime now = virtual_now();
    for (std::uint32_t host = 0; host < taps_.size(); ++host) {
        if (taps_[host].readable) {
            ingest(host, now);
        }
    }
    fabric_.advance(now);
}

// How long nothing will come out, as far as is known.
std::int64_t SwitchLoop::idle_ns() const noexcept {
    std::int64_t most_ns = longest_sleep_ns;
    const VirtualTime exit = fabric_.next_exit();
    if (exit != never) {
        most_ns = std::clamp<std::int64_t>(to_ns(exit - virtual_now()), 0, most_ns);
    }
    const bool behind = std::any_of(taps_.begin(), taps_.end(),
                                    [](const Tap& tap) { return tap.readable && tap.backlog; });
    return behind ? std::min(most_ns, settings_.read_ahead_ns / 2) : most_ns;
}

void SwitchLoop::wait_for_more() {
    if (settings_.busy) {
        poll_taps(0);
        return;
    }
    note_rate(monotonic_ns());
    if (!many_) {
        poll_taps(idle_ns());
        return;
    }
    const timespec pause{0, settings_.many_pause_ns};
    ::nanosleep(&pause, nullptr);
    poll_taps(0);
}

// Whether many frames come, judged anew every millisecond.
void SwitchLoop::note_rate(std::int64_t now_ns) noexcept {
    constexpr std::int64_t stretch_ns = 1'000'000;
    const std::int64_t elapsed_ns = now_ns - rate_since_ns_;
    if (elapsed_ns < stretch_ns) {
        return;
    }
    const auto frames = static_cast<double>(counted_.read_frames - rate_frames_);
    many_ = frames * 1e9 / static_cast<double>(elapsed_ns) > settings_.many_frames_per_s;
    rate_since_ns_ = now_ns;
    rate_frames_ = counted_.read_frames;
}

void SwitchLoop::poll_taps(std::int64_t most_ns) {
    std::array<epoll_event, 64> events{};
    const timespec most{most_ns / 1'000'000'000, most_ns % 1'000'000'000};
    const int ready =
        ::epoll_pwait2(poll_.get(), events.data(), static_cast<int>(events.size()), &most, nullptr);
    for (int i = 0; i < ready; ++i) {
        const std::uint32_t mark = events[static_cast<std::size_t>(i)].data.u32;
        if (mark == wake_mark) {
            std::uint64_t ignored = 0;
            [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &ignored, sizeof ignored);
        } else {
            taps_[mark].readable = true;
        }
    }
}

// A call for frame number `number`, timed for one in so many. What took longer than any call does
// had to give up its CPU meanwhile.
template <typename Call>
ssize_t SwitchLoop::timed(std::uint64_t number, Call call) noexcept {
    constexpr std::uint64_t one_in = 64;
    constexpr std::int64_t longest_ns = 50'000;
    if (number % one_in != 0) {
        return call();
    }
    const std::int64_t begin_ns = monotonic_ns();
    const ssize_t result = call();
    const std::int64_t took_ns = std::min(monotonic_ns() - begin_ns, longest_ns);
    counted_.kernel_ns += took_ns * static_cast<std::int64_t>(one_in);
    return result;
}

// Reads before the fabric moves on, so that a queue that was never empty has no gap.
void SwitchLoop::ingest(std::uint32_t host, VirtualTime now) {
    Tap& tap = taps_[host];
    const VirtualTime ahead = from_ns(settings_.read_ahead_ns) + (now - fabric_.now());
    while (fabric_.waiting_time(host) < ahead) {
        const auto frame = frames_.take();
        if (!frame) {
            ++counted_.pool_full;
            break;
        }
        const std::span<std::byte> room = frames_.room(*frame);
        const ssize_t got = timed(counted_.read_frames, [&]() noexcept {
            return ::read(tap.fd.get(), room.data(), room.size());
        });
        if (got < 0) {
            frames_.release(*frame);
            tap.readable = errno == EINTR;
            tap.backlog = false;
            return;
        }
        frames_.set_length(*frame, static_cast<std::size_t>(got));
        ++counted_.read_frames;
        if (tap.capture) {
            tap.capture->note(Direction::from_host, unix_ns(now), frames_.bytes(*frame));
        }
        fabric_.send(host, *frame, tap.backlog ? fabric_.now() : now);
    }
    tap.backlog = true;
}

void SwitchLoop::deliver(std::uint32_t host, FrameIndex frame, VirtualTime at) {
    Tap& tap = taps_[host];
    lateness_.note(to_ns(virtual_now() - at));
    const std::span<const std::byte> bytes = frames_.bytes(frame);
    if (tap.capture) {
        tap.capture->note(Direction::to_host, unix_ns(at), bytes);
    }
    // A TAP device without a carrier would take it all the same.
    const ssize_t written = timed(counted_.written_frames, [&]() noexcept {
        return tap.plugged ? ::write(tap.fd.get(), bytes.data(), bytes.size()) : -1;
    });
    ++(written < 0 ? counted_.refused_frames : counted_.written_frames);
}

void SwitchLoop::open_gate() {
    const VirtualTime now = virtual_now();
    for (std::uint32_t host = 0; host < taps_.size(); ++host) {
        ingest(host, now); // what waits in the hosts starts with the rest
    }
    fabric_.advance(now);
    fabric_.open_gate(now);
}

void SwitchLoop::set_pass_cost(std::int64_t cost_ns) {
    counted_.pass_cost_ns = cost_ns;
    fabric_.set_exit_credit(from_ns(cost_ns));
}

void SwitchLoop::set_carrier(std::uint32_t host, bool up) {
    sonde::set_carrier(taps_.at(host).fd.get(), up);
    taps_[host].plugged = up;
}

void SwitchLoop::set_capture(std::uint32_t host, std::shared_ptr<Capture> capture) {
    taps_.at(host).capture = std::move(capture);
}

void SwitchLoop::end_capture(std::uint32_t host, const std::shared_ptr<Capture>& capture) {
    Tap& tap = taps_.at(host);
    if (tap.capture == capture) { // else another has taken its place
        tap.capture.reset();
    }
}

LoopFacts SwitchLoop::facts() const {
    LoopFacts facts = counted_;
    facts.elapsed_ns = monotonic_ns() - start_ns_;
    facts.cpu_ns = thread_cpu_ns();
    facts.frames_inside = frames_.in_use();
    return facts;
}

void SwitchLoop::call(const std::function<void()>& work) {
    std::packaged_task<void()> task(work);
    std::future<void> done = task.get_future();
    {
        const std::scoped_lock lock(mutex_);
        if (ended_) {
            throw Failure("internal", "the switch has ended");
        }
        calls_.push_back(std::move(task));
        called_ = true;
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
    done.get();
}

void SwitchLoop::do_calls() {
    std::deque<std::packaged_task<void()>> calls;
    {
        const std::scoped_lock lock(mutex_);
        calls.swap(calls_);
        called_ = false;
    }
    for (std::packaged_task<void()>& task : calls) {
        task();
    }
}

void SwitchLoop::refuse_calls() {
    {
        const std::scoped_lock lock(mutex_);
        ended_ = true;
    }
    do_calls();
}

} // namespace sonde
