// Ends this process where the provider never comes back: an end that was killed may have held a
// lock in the memory that both share, and who asks for it waits for ever.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace sonde {

class LastResort {
public:
    LastResort() = default;
    LastResort(const LastResort&) = delete;
    LastResort& operator=(const LastResort&) = delete;
    // The provider has come back.
    ~LastResort();

    // From now on there is so much time left; then shared memory of both names goes, and the
    // process ends. Names of anything else arm nothing. Once only; any thread.
    void arm(const std::string& own_name, const std::string& peer_name,
             std::chrono::milliseconds left) noexcept;

private:
    void wait(const std::string& own_name, const std::string& peer_name,
              std::chrono::milliseconds left);

    std::mutex mutex_;
    std::condition_variable woken_;
    bool is_back_ = false;
    std::thread thread_;
};

} // namespace sonde
