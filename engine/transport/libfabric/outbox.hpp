// Messages on their way out of this end.
#pragma once

#include <rdma/fi_rma.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/failure.hpp"
#include "transport/libfabric/endpoint.hpp"
#include "transport/libfabric/queue.hpp"

namespace sonde {

// A message cut into what one post takes: so many pieces, of `most` bytes but for the last.
struct FabricPieces {
    std::size_t count = 1;
    std::size_t most = 0;

    // Throws Failure("bad_request") with both numbers where one post does not take a message and
    // it may not be cut.
    FabricPieces(const FabricEndpoint& endpoint, const FabricOptions& options,
                 std::size_t message_bytes);

    template <class Byte>
    [[nodiscard]] std::span<Byte> of(std::span<Byte> message, std::size_t index) const noexcept {
        const std::size_t begin = index * most;
        return message.subspan(begin, index + 1 == count ? message.size() - begin : most);
    }
};

// Memory that the other end has opened to this one.
struct RemoteMemory {
    std::uint64_t address = 0;
    std::uint64_t key = 0;
};

class FabricOutbox {
public:
    // depth: messages on their way at once.
    FabricOutbox(const FabricEndpoint& endpoint, const FabricOptions& options, FabricQueue& queue,
                 FabricPieces pieces, std::size_t depth);

    // The memory of a message must stay as it is until settle().
    template <class Wait>
    void send(std::span<const std::byte> message) {
        if (options_.fresh) {
            send_fresh<Wait>(message);
            return;
        }
        void* const descriptor = descriptor_of(message);
        for (std::size_t i = 0; i < pieces_.count; ++i) {
            const auto piece = pieces_.of(message, i);
            FabricWork& work = next<Wait>();
            post(work, [&] { return post_piece(piece, descriptor, work); });
        }
    }

    // The library takes the message before it returns.
    void inject(std::span<const std::byte> message) {
        post([&] {
            return fi_inject(endpoint_.ep(), message.data(), message.size(), endpoint_.peer());
        });
    }

    template <class Wait>
    void write(std::span<const std::byte> message, const RemoteMemory& to, std::uint64_t data) {
        void* const descriptor = descriptor_of(message);
        FabricWork& work = next<Wait>();
        post(work, [&] {
            return fi_writedata(endpoint_.ep(), message.data(), message.size(), descriptor, data,
                                endpoint_.peer(), to.address, to.key, &work.context);
        });
    }

    void inject_write(std::span<const std::byte> message, const RemoteMemory& to,
                      std::uint64_t data) {
        post([&] {
            return fi_inject_writedata(endpoint_.ep(), message.data(), message.size(), data,
                                       endpoint_.peer(), to.address, to.key);
        });
    }

    // Posts something else whose completion names the work, which is waited for.
    template <class Wait, class Call>
    void perform(Call call) {
        FabricWork& work = next<Wait>();
        post(work, [&] { return call(work); });
        while (work.busy) {
            Wait::wait(queue_);
        }
    }

    // Returns when no message is on its way any more.
    template <class Wait>
    void settle() {
        for (const FabricWork& work : works_) {
            while (work.busy) {
                Wait::wait(queue_);
            }
        }
    }

    [[nodiscard]] bool is_settled() const noexcept;
    [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }
    // What the provider knows the memory by; registers it where it is seen for the first time and
    // the provider asks for that.
    [[nodiscard]] void* descriptor_of(std::span<const std::byte> memory) {
        if (!wants_local_) [[likely]] {
            return nullptr;
        }
        return registered(memory);
    }

private:
    template <class Wait>
    void send_fresh(std::span<const std::byte> message) {
        const FabricMemory memory = endpoint_.register_memory(writable(message), false);
        for (std::size_t i = 0; i < pieces_.count; ++i) {
            const auto piece = pieces_.of(message, i);
            FabricWork& work = next<Wait>();
            post(work, [&] { return post_piece(piece, memory.descriptor(), work); });
        }
        settle<Wait>(); // it is taken back only then
    }

    template <class Wait>
    FabricWork& next() {
        FabricWork& work = works_[at_];
        at_ = at_ + 1 == works_.size() ? 0 : at_ + 1;
        while (work.busy) {
            Wait::wait(queue_);
        }
        return work;
    }

    template <class Call>
    void post(FabricWork& work, Call call) {
        work.busy = true;
        try {
            post(call);
        } catch (...) {
            work.busy = false;
            throw;
        }
    }

    template <class Call>
    void post(Call call) {
        ssize_t answer = call();
        while (answer == -FI_EAGAIN) { // its queue is full: what is done makes room
            queue_.look();
            answer = call();
        }
        if (answer != 0) [[unlikely]] {
            throw refused(answer);
        }
        ++calls_;
    }

    [[nodiscard]] ssize_t post_piece(std::span<const std::byte> piece, void* descriptor,
                                     FabricWork& work) const {
        if (options_.parts == 1) [[likely]] {
            return fi_send(endpoint_.ep(), piece.data(), piece.size(), descriptor, endpoint_.peer(),
                           &work.context);
        }
        return post_parts(piece, descriptor, work);
    }
    [[nodiscard]] ssize_t post_parts(std::span<const std::byte> piece, void* descriptor,
                                     FabricWork& work) const;
    [[nodiscard]] Failure refused(ssize_t answer) const;
    [[nodiscard]] void* registered(std::span<const std::byte> memory);
    // libfabric's calls take memory that they only read as if they would write it.
    [[nodiscard]] static std::span<std::byte> writable(std::span<const std::byte> memory) noexcept {
        return {const_cast<std::byte*>(memory.data()), memory.size()}; // NOLINT(*-const-cast)
    }

    const FabricEndpoint& endpoint_;
    const FabricOptions& options_;
    FabricQueue& queue_;
    FabricPieces pieces_;
    bool wants_local_;
    std::vector<FabricWork> works_;
    std::size_t at_ = 0;
    std::vector<FabricMemory> memories_;
    std::uint64_t calls_ = 0;
};

} // namespace sonde
