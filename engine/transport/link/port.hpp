// The services of the link: frames that a driver brings are looked at once and given to the
// endpoint that they are for, where they lie until their reader has done with them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "transport/link/driver.hpp"
#include "transport/link/frame.hpp"

namespace sonde {

// Who an endpoint speaks with.
struct LinkPartner {
    MacAddress address{};
    std::uint16_t number = 0; // of the endpoint there

    friend bool operator==(const LinkPartner&, const LinkPartner&) = default;
};

// What was thrown away, since the port was opened.
struct LinkDropped {
    std::uint64_t strangers = 0; // from somebody who is no partner
    std::uint64_t malformed = 0; // no frame of ours
    std::uint64_t of_others = 0; // for an endpoint of somebody else, before the kernel drops such
    std::uint64_t no_room = 0;   // its endpoint held as many as it may
};

// A frame of an endpoint, to be read until it is given back.
struct LinkSegment {
    LinkHeader header;
    std::span<const std::byte> content;
    std::uint32_t slot = 0;
};

// Endpoints 0 to count - 1 of one interface. Each has one partner at a time, which may be changed.
// One thread may send while another one receives.
class LinkPort {
public:
    LinkPort(std::unique_ptr<LinkDriver> driver, const LinkDevice& device, EndpointNumbers numbers);

    // What comes from anybody else is dropped and counted; what lies there still stays.
    void point(std::size_t endpoint, const LinkPartner& partner);

    // False where there is no room for the moment.
    [[nodiscard]] bool send(std::size_t endpoint, LinkHeader header,
                            std::span<const std::byte> content) {
        Endpoint& from = endpoints_[endpoint];
        header.number = from.partner.number;
        header.bytes = static_cast<std::uint16_t>(content.size());
        const bool sent = driver_->send(from.headers.with(header), content);
        frames_sent_ += sent ? 1U : 0U;
        return sent;
    }

    // Takes the oldest frame that the driver has, and gives it to its endpoint. True where there
    // was one.
    bool deliver();
    // The same of all that the driver has, up to so many that answers do not wait for long.
    bool deliver_several() {
        int taken = 0;
        while (taken != most_at_once && deliver()) {
            ++taken;
        }
        return taken != 0;
    }
    // The oldest of an endpoint's frames; none where nothing lies there.
    [[nodiscard]] std::optional<LinkSegment> next(std::size_t endpoint);
    // Lets the oldest one lie where it is while later ones are read.
    void release(const LinkSegment& segment) noexcept { driver_->release(segment.slot); }

    [[nodiscard]] LinkDriver& driver() noexcept { return *driver_; }
    [[nodiscard]] const LinkDriver& driver() const noexcept { return *driver_; }
    [[nodiscard]] const LinkDevice& device() const noexcept { return device_; }
    [[nodiscard]] EndpointNumbers numbers() const noexcept { return numbers_; }
    [[nodiscard]] const LinkDropped& dropped() const noexcept { return dropped_; }
    [[nodiscard]] std::uint64_t frames_sent() const noexcept { return frames_sent_; }
    [[nodiscard]] std::uint64_t frames_received() const noexcept { return frames_received_; }

private:
    static constexpr std::uint32_t none = 0xFFFF'FFFF;
    static constexpr int most_at_once = 32;

    struct Endpoint {
        LinkPartner partner;
        FrameHeaders headers;
        std::uint32_t oldest = none; // a list through `lying_`
        std::uint32_t newest = none;
        std::uint32_t held = 0;
    };
    struct Lying {
        LinkHeader header;
        std::span<const std::byte> content;
        std::uint32_t next = none;
    };
    void take(const LinkArrival& arrival);

    std::unique_ptr<LinkDriver> driver_;
    LinkDevice device_;
    EndpointNumbers numbers_;
    std::vector<Endpoint> endpoints_;
    std::vector<Lying> lying_; // by the driver's slot
    std::uint32_t most_held_;  // of one endpoint
    bool admits_only_ = false; // the kernel drops what is for others
    LinkDropped dropped_;
    std::uint64_t frames_sent_ = 0;
    std::uint64_t frames_received_ = 0;
};

// A port that takes fragments of other ends as well, as large as usual ones: how large theirs are
// is not known yet. Throws Failure, as open_driver() does.
[[nodiscard]] LinkPort open_port_of(DriverKind kind, const LinkDevice& device,
                                    EndpointNumbers numbers, std::size_t fragment_bytes);

} // namespace sonde
