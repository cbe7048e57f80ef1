// Other work for a host's CPUs: what a measurement meets on a host that is not idle.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace sonde {

struct BurnPlan {
    std::vector<int> cpus;     // none: all that are allowed here
    double share = 1.0;        // of each CPU's time that is wanted
    int nice = 0;              // 0 to 19: how readily it gives way
    std::int64_t longest_ns{}; // ends by itself after so long
};

struct Burnt {
    int cpu = 0;
    std::int64_t processor_ns = 0; // what it got
    std::int64_t lasted_ns = 0;
};

// A thread on each CPU that works for its share of every 10 ms, in time of the CPU:
// what it does not get in one period it does not ask for in the next.
class Burner {
public:
    // Throws Failure where a CPU may not be used.
    explicit Burner(const BurnPlan& plan);
    ~Burner();
    Burner(const Burner&) = delete;
    Burner& operator=(const Burner&) = delete;

    // Ends the threads; what each got.
    [[nodiscard]] std::vector<Burnt> rest();

private:
    void stop();
    void burn(const BurnPlan& plan, Burnt& found, std::promise<void>& started) const;
    void work(double share, std::int64_t longest_ns) const;

    std::atomic<bool> stopped_ = false;
    std::vector<Burnt> found_;
    std::vector<std::thread> threads_;
};

} // namespace sonde
