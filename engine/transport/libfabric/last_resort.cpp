#include "transport/libfabric/last_resort.hpp"

#include <unistd.h>

#include "transport/libfabric/leftovers.hpp"

namespace sonde {

LastResort::~LastResort() {
    {
        const std::scoped_lock lock(mutex_);
        is_back_ = true;
    }
    woken_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void LastResort::arm(const std::string& own_name, const std::string& peer_name,
                     std::chrono::milliseconds left) noexcept {
    const std::scoped_lock lock(mutex_);
    if (is_back_ || thread_.joinable() || !is_shared_memory(own_name)) {
        return;
    }
    try {
        thread_ =
            std::thread([this, own_name, peer_name, left] { wait(own_name, peer_name, left); });
    } catch (...) { // no thread, no last resort
    }
}

void LastResort::wait(const std::string& own_name, const std::string& peer_name,
                      std::chrono::milliseconds left) {
    std::unique_lock lock(mutex_);
    if (woken_.wait_for(lock, left, [this] { return is_back_; })) {
        return;
    }
    remove_shared_memory(own_name);
    remove_shared_memory_of(peer_name);
    ::_exit(1);
}

} // namespace sonde
