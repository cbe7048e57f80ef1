// A packet socket for frames of ours, which two of the drivers have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/descriptor.hpp"
#include "transport/link/driver.hpp"

namespace sonde {

// Throws Failure("unsupported") without CAP_NET_RAW.
void require_frames();

// Not bound yet, so that nothing comes before it is ready. Throws Failure("unsupported") without
// CAP_NET_RAW.
[[nodiscard]] Descriptor make_packet_socket();
// From now on only frames for these endpoints get in; what others send costs this process nothing.
void admit(int fd, EndpointNumbers numbers);
void bind_packet_socket(int fd, const LinkDevice& device);
// False where there is no room for the moment.
[[nodiscard]] bool send_frame(int fd, std::span<const std::byte> headers,
                              std::span<const std::byte> content, DriverCopies& copied);
[[nodiscard]] bool is_drained(int fd);
// Frames that found no room since the last call.
[[nodiscard]] std::uint64_t take_overflowed(int fd);

} // namespace sonde
