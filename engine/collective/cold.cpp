#include "collective/cold.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "collective/context.hpp"
#include "core/caches.hpp"
#include "core/failure.hpp"

namespace sonde::collective {
namespace {

// At most this far apart are two bytes that a CPU fetches together.
constexpr std::size_t line_bytes = 64;

// Another one for every rank and repetition.
std::uint64_t fresh_seed(const Context& context) noexcept {
    return (context.repetition + 1) * static_cast<std::uint64_t>(context.ranks) +
           static_cast<std::uint64_t>(context.rank);
}

// What the rank gives; of operations in place, which have one buffer, that of who gives.
std::span<std::byte> own_data(Context& context) noexcept {
    if (context.given.size() != 0) {
        return context.given.bytes();
    }
    const bool gives = context.rank == context.root || context.has_partners();
    return gives ? context.got.bytes() : std::span<std::byte>{};
}

} // namespace

std::size_t cold_bytes(std::size_t asked, std::size_t cache_bytes) {
    if (asked == 0 && cache_bytes == 0) {
        throw Failure("bad_request", "cache: this host does not tell how large its caches are; "
                                     "give cache_bytes");
    }
    if (asked != 0 && asked <= cache_bytes) {
        throw Failure("bad_request", "request: cache_bytes is " + std::to_string(asked) +
                                         ", expected more than the " + std::to_string(cache_bytes) +
                                         " bytes of this host's last-level cache");
    }
    return asked != 0 ? asked : 2 * cache_bytes;
}

Cold::Cold(Context& context) : state_(context.choices.cache) {
    if (state_ == CacheState::warm || state_ == CacheState::fresh) {
        return;
    }
    bytes_ = cold_bytes(context.choices.cache_bytes, last_level_cache_bytes(data_caches()));
    if (state_ == CacheState::flushed) {
        Payload::require_available(bytes_);
        walked_.assign(bytes_, 1);
        return;
    }
    take_copies(context);
}

// A copy begins at a page, and so do its lines' places in the cache: as many as have all its pages.
void Cold::take_copies(Context& context) {
    const std::size_t each = context.given.stride_bytes() + context.got.stride_bytes();
    copies_ = std::max<std::size_t>(2, (bytes_ + each - 1) / each);
    bytes_ = copies_ * each;
    context.given.replicate(copies_);
    context.got.replicate(copies_);
}

void Cold::turn(Context& context) noexcept {
    if (state_ == CacheState::rotated) {
        context.given.use(repetition_ % copies_);
        context.got.use(repetition_ % copies_);
        ++repetition_;
    }
}

void Cold::flush(Context& context) noexcept {
    if (state_ == CacheState::fresh) {
        Payload::write(own_data(context), context.seed + fresh_seed(context));
    }
    for (std::size_t at = 0; at < walked_.size(); at += line_bytes) {
        ++walked_[at];
    }
}

} // namespace sonde::collective
