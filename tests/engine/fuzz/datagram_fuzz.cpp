// Datagrams as they come: numbers, batches and lengths that nobody has sent.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>

#include "core/clock.hpp"
#include "fuzz/bytes.hpp"
#include "test/datagram_stream.hpp"
#include "transport/socket/sealed_path.hpp"

namespace {

using namespace sonde;

// A path on which the fuzzer's datagrams arrive: each a length, then its bytes.
class Given {
public:
    static constexpr bool datagrams = true;

    explicit Given(Bytes& given) : given_(given) {}

    void send(std::span<const std::byte> /*message*/, std::size_t /*call_bytes*/) {}
    std::size_t receive(std::span<std::byte> message, std::size_t /*call_bytes*/) {
        if (given_.empty()) {
            return nothing_received;
        }
        ++calls_;
        const auto came = given_.take(given_.one());
        std::copy_n(came.begin(), std::min(came.size(), message.size()), message.begin());
        return came.size();
    }
    std::size_t receive_following(std::span<std::byte> message, std::size_t call_bytes) {
        return receive(message, call_bytes);
    }
    void drain() {}
    void check_interrupted() const {}
    bool wait_drained() { return true; }
    [[nodiscard]] std::uint64_t calls_sent() const { return 0; }
    [[nodiscard]] std::uint64_t calls_received() const { return calls_; }
    void interrupt() {}

private:
    Bytes& given_;
    std::uint64_t calls_ = 0;
};

static_assert(DatagramTransport<Given>);
static_assert(DatagramTransport<SealedPath<Given>>);

// How many of the fuzzer's messages count as received.
template <class Path>
std::uint64_t received(Path& path, const RunParameters& run, std::uint32_t batch) {
    static const Timebase timebase;
    Start start;
    start.batch = batch;
    DatagramReceiver<Path> receiver(run);
    const auto ended = [&]() -> std::optional<Totals> {
        return Totals{run.count, run.count * run.message_bytes, EndedBy::count};
    };
    receiver.template play<MonotonicClock>(path, start, ended);
    Result result;
    receiver.report(result, start, Totals{run.count, 0, EndedBy::count}, timebase);
    return receiver.received().messages;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Bytes given(data, size);
    const bool sealed = given.one() % 2 != 0;
    RunParameters run;
    run.message_bytes = given.one() % 80;
    run.call_bytes = std::max<std::size_t>(run.message_bytes, 1);
    run.count = 1 + given.one();
    run.record_messages = given.one() % 2 != 0;
    run.check_data = true;
    const std::uint32_t batch = given.one();
    if (!sealed) {
        Given path(given);
        if (received(path, run, batch) > run.count) {
            std::abort(); // more than there can be
        }
        return 0;
    }
    static const Seal seal(SealKey{std::byte{7}}, Speaker::target);
    static const Admission admission{};
    run.message_bytes = std::max(run.message_bytes, Seal::header_bytes);
    SealedPath<Given> path(seal, admission, given);
    if (received(path, run, batch) != 0) {
        std::abort(); // nobody who has no key makes a tag
    }
    return 0;
}
