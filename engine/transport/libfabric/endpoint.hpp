// One end of a path in a fabric: opened, joined with its peer, and ready for messages.
#pragma once

#include <rdma/fi_rma.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "core/failure.hpp"
#include "transport/libfabric/handles.hpp"
#include "transport/libfabric/last_resort.hpp"
#include "transport/libfabric/library.hpp"
#include "transport/libfabric/meeting_point.hpp"
#include "transport/libfabric/memory.hpp"
#include "transport/libfabric/options.hpp"

namespace sonde {

// The first message each way, and what its completions name.
struct FabricGreeting {
    static constexpr std::size_t bytes = 64;
    std::array<std::byte, bytes> in{};
    std::array<std::byte, bytes> out{};
    FabricMemory memory_in;
    FabricMemory memory_out;
    fi_context2 received{};
    fi_context2 sent{};
};

enum class FabricRole : std::uint8_t { origin, target };

class FabricEndpoint {
public:
    // own_address: this host's, numeric, on the path to the other end. Both ends call this at once.
    // Throws Failure: "unsupported" where no provider fits, "timeout" where the other end is not
    // reached through the fabric.
    FabricEndpoint(const FabricOptions& options, FabricRole role, const std::string& own_address,
                   const MeetingPoint& meeting, const Deadline& deadline);

    // Where the other end was killed, what it left on this host goes, too.
    ~FabricEndpoint();
    FabricEndpoint(const FabricEndpoint&) = delete;
    FabricEndpoint& operator=(const FabricEndpoint&) = delete;

    // What was obtained, by the names of `done` of `open`.
    [[nodiscard]] nlohmann::json facts() const;

    [[nodiscard]] fid_ep* ep() const noexcept { return ep_.get(); }
    [[nodiscard]] fid_cq* cq() const noexcept { return cq_.get(); }
    [[nodiscard]] fid_domain* domain() const noexcept { return domain_.get(); }
    [[nodiscard]] const fi_info& info() const noexcept { return *info_; }
    [[nodiscard]] fi_addr_t peer() const noexcept { return peer_; }
    [[nodiscard]] const FabricLibrary& library() const noexcept { return library_; }
    // The most that one post takes: the provider's, or what was asked for.
    [[nodiscard]] std::size_t most_post_bytes() const noexcept { return most_post_bytes_; }
    [[nodiscard]] bool wants_local_memory() const noexcept;

    // Of memory from here on; remote: the other end may read and write it.
    [[nodiscard]] FabricMemory register_memory(std::span<std::byte> memory, bool remote) const;
    // How the other end has to name memory of this end that begins at `memory`.
    [[nodiscard]] std::uint64_t named(const std::byte* memory) const noexcept;

    // The provider is to be left: where it never comes back, this process ends. Any thread.
    void leave_soon() noexcept;
    // No memory is looked at any more.
    void close() noexcept;

private:
    [[nodiscard]] FabricInfo choose(const std::string& own_address) const;
    [[nodiscard]] FabricInfo hints() const;
    void open_domain();
    [[nodiscard]] FabricHandle<fid_ep> make_endpoint(fi_info& info);
    [[nodiscard]] std::span<const std::byte> name_of(fid& object, FabricCard& card) const;
    void connect(const MeetingPoint& meeting, const Deadline& deadline);
    void accept(const MeetingPoint& meeting, const Deadline& deadline);
    void meet(const MeetingPoint& meeting, const Deadline& deadline);
    void greet(const MeetingPoint& meeting, const Deadline& deadline);
    void hear_greeting();
    [[nodiscard]] bool say_greeting();
    [[nodiscard]] Failure not_reached() const;
    [[nodiscard]] Failure greeting_failure() const;
    FabricInfo await_event(std::uint32_t wanted, const Deadline& deadline) const;
    [[nodiscard]] Failure event_failure() const;
    void require(int error, const char* what) const;

    std::string own_name_; // where it is a text
    std::string peer_name_;
    LastResort last_resort_; // until all else is closed
    FabricOptions options_;
    FabricLibrary library_;
    FabricInfo info_;
    std::size_t most_post_bytes_ = 0;
    FabricHandle<fid_fabric> fabric_;
    FabricHandle<fid_eq> eq_;
    FabricHandle<fid_domain> domain_;
    FabricHandle<fid_cq> cq_;
    FabricHandle<fid_av> av_;
    FabricHandle<fid_pep> listening_;
    FabricGreeting greeting_; // longer than the endpoint, which may still look at it
    FabricHandle<fid_ep> ep_;
    fi_addr_t peer_ = FI_ADDR_UNSPEC;
};

} // namespace sonde
