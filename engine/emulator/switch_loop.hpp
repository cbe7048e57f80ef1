// Plays a fabric against the wall clock: frames come from TAP devices and go back to them.
//
// The fabric runs in virtual time, so a pass that comes late changes what nobody: it only releases
// frames late, which is counted. A host's frames are read while they take less than read_ahead_ns
// on its line; the rest stays in the host's own queue, as with a real card. What was waiting while
// this thread did not run goes on the line without a gap.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/descriptor.hpp"
#include "emulator/capture.hpp"
#include "emulator/lateness.hpp"
#include "fabric/fabric.hpp"

namespace sonde {

struct LoopSettings {
    bool busy = false;      // spins instead of sleeping
    bool awake = false;     // no CPU of this machine sleeps meanwhile
    int priority = 0;       // of SCHED_FIFO; 0: the usual scheduler
    std::optional<int> cpu; // that it runs on
    std::int64_t late_limit_ns = 500'000;
    std::int64_t read_ahead_ns = 4'000'000;
    // While more frames come than this a second, the loop looks after them only every so often:
    // a sleep and a wake-up for each would cost more than the frames themselves.
    double many_frames_per_s = 50'000.0;
    std::int64_t many_pause_ns = 50'000;
    std::int64_t pool_bytes = std::int64_t{512} << 20U;
};

struct LoopFacts {
    std::int64_t elapsed_ns = 0;
    std::int64_t cpu_ns = 0;    // of the loop's thread
    std::int64_t kernel_ns = 0; // of it in reading and writing frames; one in 64 is timed
    std::uint64_t passes = 0;
    std::uint64_t read_frames = 0;
    std::uint64_t written_frames = 0;
    std::uint64_t refused_frames = 0; // by a host's device, as while it is down
    std::uint64_t pool_full = 0;      // times that a host had to wait for want of memory
    std::size_t frames_inside = 0;
    std::int64_t pass_cost_ns = 0;
};

class SwitchLoop final : public FabricExit {
public:
    // taps: one for each host of the topology, in its order.
    SwitchLoop(const Topology& topology, std::vector<Descriptor> taps,
               const LoopSettings& settings);

    // Returns after stop(). Throws Failure("system") where it cannot begin.
    void run();
    void stop() noexcept;

    // Runs work on the loop's thread between two passes and waits until it is done; from any other
    // thread. Passes on what work throws; throws Failure where the loop has ended.
    void call(const std::function<void()>& work);

    // Of the loop's thread, or before it runs: by call().
    [[nodiscard]] Fabric& fabric() noexcept { return fabric_; }
    [[nodiscard]] const Lateness& lateness() const noexcept { return lateness_; }
    void forget_lateness() noexcept { lateness_ = Lateness(lateness_.limit_ns()); }
    [[nodiscard]] LoopFacts facts() const;
    void close_gate() noexcept { fabric_.close_gate(); }
    void open_gate();
    // How much sooner frames are released, for what the way through this machine costs.
    void set_pass_cost(std::int64_t cost_ns);
    void set_carrier(std::uint32_t host, bool up);
    // Who sets a capture keeps it as well: its end waits for its file, which this thread must not.
    void set_capture(std::uint32_t host, std::shared_ptr<Capture> capture);
    void end_capture(std::uint32_t host, const std::shared_ptr<Capture>& capture);

    void deliver(std::uint32_t host, FrameIndex frame, VirtualTime at) override;

private:
    struct Tap {
        Descriptor fd;
        bool readable = true;
        bool backlog = false; // frames were left in the host
        bool plugged = true;
        std::shared_ptr<Capture> capture;
    };

    [[nodiscard]] VirtualTime virtual_now() const noexcept;
    [[nodiscard]] std::int64_t unix_ns(VirtualTime at) const noexcept;
    void prepare_thread();
    void watch_all();
    void pass();
    void wait_for_more();
    void poll_taps(std::int64_t most_ns);
    template <typename Call>
    [[nodiscard]] ssize_t timed(std::uint64_t number, Call call) noexcept;
    void note_rate(std::int64_t now_ns) noexcept;
    [[nodiscard]] std::int64_t idle_ns() const noexcept;
    void ingest(std::uint32_t host, VirtualTime now);
    void do_calls();
    void refuse_calls();

    LoopSettings settings_;
    FramePool frames_;
    Fabric fabric_;
    std::vector<Tap> taps_;
    Lateness lateness_;
    Descriptor poll_;
    Descriptor wake_;
    Descriptor latency_wish_; // the kernel keeps CPUs awake while it is open
    std::int64_t start_ns_ = 0;
    std::int64_t start_unix_ns_ = 0;
    LoopFacts counted_;
    std::int64_t rate_since_ns_ = 0; // begin of the stretch that the rate is taken over
    std::uint64_t rate_frames_ = 0;  // read before it
    bool many_ = false;
    std::atomic<bool> stop_ = false;
    std::atomic<bool> called_ = false;
    std::mutex mutex_;
    bool ended_ = false;
    std::deque<std::packaged_task<void()>> calls_;
};

} // namespace sonde
