// The choices of operations without MPI running: what is refused, reductions by hand, and the
// overlap of operations whose overlap is known.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "collective/cold.hpp"
#include "collective/entry.hpp"
#include "collective/operation.hpp"
#include "collective/overlap.hpp"
#include "collective/partners.hpp"
#include "collective/reductions.hpp"
#include "core/caches.hpp"
#include "core/failure.hpp"
#include "transport/mpi/call.hpp"

namespace {

using namespace sonde;
using namespace sonde::collective;

Setup setup(const std::string& operation, std::size_t message_bytes, int ranks = 4) {
    return {.operation = operation,
            .message_bytes = message_bytes,
            .count = 1,
            .check_data = true,
            .seed = 3,
            .communicator = MPI_COMM_NULL,
            .rank = 0,
            .ranks = ranks};
}

std::string refusal(const Setup& asked) {
    try {
        static_cast<void>(prepare(asked));
    } catch (const Failure& failure) {
        CHECK(failure.code() == "bad_request");
        return failure.what();
    }
    return "";
}

bool contains(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
}

std::uint64_t word_given(const Context& context, int rank, std::size_t place) {
    std::uint64_t word = 0;
    std::array<std::byte, word_bytes> bytes{};
    context.write_given(rank, place * word_bytes, bytes);
    std::memcpy(&word, bytes.data(), word_bytes);
    return word;
}

std::vector<std::uint64_t> joined(const std::string& reduction, std::size_t words, int ranks) {
    Setup asked = setup("allreduce", words * word_bytes, ranks);
    asked.choices.reduction = reduction;
    std::vector<std::uint64_t> found(words);
    const Context context(asked);
    write_joined(context, ranks, 0, std::as_writable_bytes(std::span(found)));
    return found;
}

// A clock that goes on where it is told to, and operations of a known length.
struct ToldClock {
    static std::uint64_t now() { return ticks; }
    static inline std::uint64_t ticks = 0;
};

struct ToldWork {
    static void run(std::uint64_t steps) { ToldClock::ticks += steps; }
};

constexpr std::uint64_t length = 1000;
std::uint64_t done_at = 0;
bool is_under_way = false;

int begin_at_once(Context& /*c*/) {
    done_at = ToldClock::ticks + length;
    is_under_way = true;
    return MPI_SUCCESS;
}

int begin_nothing(Context& /*c*/) {
    is_under_way = false;
    return MPI_SUCCESS;
}

// MPI that goes on only while it is called: the first call begins what then goes on by itself.
int poll(Context& c) { return is_under_way ? MPI_SUCCESS : begin_at_once(c); }

int finish(Context& c) {
    if (!is_under_way) {
        begin_at_once(c);
    }
    ToldClock::ticks = std::max(ToldClock::ticks, done_at);
    return MPI_SUCCESS;
}

std::uint64_t together(int (*begin)(Context&), std::uint64_t steps, int polls) {
    Context context(setup("ibcast", 8));
    ToldWork work;
    return time_together<ToldClock>(context, {begin, poll, finish}, work, steps, polls);
}

} // namespace

TEST_SUITE("choices") {
    TEST_CASE("what MPI says of an error is one sentence") {
        using mpi::in_one_sentence;
        CHECK(in_one_sentence("Other MPI error") == "Other MPI error");
        CHECK(
            in_one_sentence("Internal MPI error!, error stack:\ninternal_Bcast(8093): "
                            "MPI_Bcast(buffer=0x1) failed\nMPIR_Bcast(2): Internal MPI error!\n") ==
            "Internal MPI error!");
        CHECK(
            in_one_sentence("Other MPI error, error stack:\ninternal_Send(1): MPI_Send(a) failed\n"
                            "progress(7): OFI poll failed (Connection reset by peer)") ==
            "Other MPI error (progress(7): OFI poll failed (Connection reset by peer))");
        // MPI's texts end at its limit.
        CHECK(
            in_one_sentence("Other MPI error, error stack:\ninternal_Init(7): MPI_Init(a) failed\n"
                            "init(3): no memory\nMPIDU_shm_alloc(65") ==
            "Other MPI error (init(3): no memory)");
        CHECK(in_one_sentence("Other MPI error, error stack:\nMPI_Send(a) failed\n") ==
              "Other MPI error");
        CHECK(in_one_sentence("Other MPI error, error stack:") == "Other MPI error");
    }

    TEST_CASE("an operation that goes on by itself is hidden behind the computation") {
        CHECK(together(begin_at_once, 1000, 0) == 1000);
        CHECK(together(begin_at_once, 600, 0) == 1000);
        CHECK(together(begin_at_once, 1500, 4) == 1500);
    }

    TEST_CASE("an operation that goes on in the wait only is not hidden at all") {
        CHECK(together(begin_nothing, 1000, 0) == 2000);
        CHECK(together(begin_nothing, 300, 0) == 1300);
    }

    TEST_CASE("an operation that a call sets going is hidden from the first call on") {
        CHECK(together(begin_nothing, 1000, 1) == 1500);
        CHECK(together(begin_nothing, 1000, 3) == 1250);
        CHECK(together(begin_nothing, 1003, 1) == 502 + 1000); // all steps are taken
    }

    TEST_CASE("a computation is as long as asked for") {
        CHECK(steps_for(1000, 2.0) == 2000);
        CHECK(steps_for(0, 2.0) == 1);
        CHECK(steps_for(-5, 2.0) == 1);
        CHECK(steps_for(std::int64_t{1} << 62U, 10.0) == std::uint64_t{1} << 42U);
    }

    TEST_CASE("reductions by hand") {
        const Context context(setup("allreduce", 32));
        const auto sum = joined("sum", 4, 3);
        const auto least = joined("min", 4, 3);
        const auto most = joined("max", 4, 3);
        const auto floats = joined("float-sum", 4, 3);
        for (std::size_t i = 0; i < 4; ++i) {
            const std::array words{word_given(context, 0, i), word_given(context, 1, i),
                                   word_given(context, 2, i)};
            CHECK(sum[i] == words[0] + words[1] + words[2]);
            CHECK(least[i] == std::ranges::min(words));
            CHECK(most[i] == std::ranges::max(words));
            double exact = 0.0;
            for (const std::uint64_t word : words) {
                exact += static_cast<double>(word >> 44U);
            }
            CHECK(std::bit_cast<double>(floats[i]) == exact);
        }
    }

    TEST_CASE("a word holds as many elements as go into it, and each is joined with its like") {
        const auto join = [](const char* reduction, const char* datatype, std::uint64_t left,
                             std::uint64_t right) {
            return reduction_named(reduction, datatype).join(left, right);
        };
        CHECK(join("sum", "char", 0x01FF'0000'0000'0080U, 0x0101'0000'0000'0080U) ==
              0x0200'0000'0000'0000U);
        CHECK(join("min", "char", 0x01FFU, 0x0201U) == 0x01FFU); // 0xFF is -1
        CHECK(join("max", "int", 0xFFFF'FFFF'0000'0002U, 0x0000'0001'0000'0001U) ==
              0x0000'0001'0000'0002U);
        CHECK(join("or", "byte", 0x10U, 0x01U) == 0x11U);
        const Reduction floats = reduction_named("sum", "float");
        const std::uint64_t term = floats.term(0x0300'0000'0500'0000U); // 5 and 3
        const auto halves = std::bit_cast<std::array<float, 2>>(floats.join(term, term));
        CHECK(halves == std::array{10.0F, 6.0F});
        CHECK(floats.element_bytes == sizeof(float));
        CHECK_THROWS_AS(static_cast<void>(reduction_named("sum", "byte")), Failure);
        CHECK_THROWS_AS(static_cast<void>(reduction_named("or", "double")), Failure);
        CHECK_THROWS_AS(static_cast<void>(reduction_named("null", "int")), Failure);
        CHECK_THROWS_AS(static_cast<void>(reduction_named("sum", "word")), Failure);
    }

    TEST_CASE("the ordered reduction is associative, and its order matters") {
        const Reduction ordered = reduction_named("ordered");
        const std::uint64_t a = ordered.term(0x1234567812345678U);
        const std::uint64_t b = ordered.term(0xdeadbeefcafe0001U);
        const std::uint64_t c = ordered.term(0x0f0f0f0f77777777U);
        CHECK(ordered.join(a, ordered.join(b, c)) == ordered.join(ordered.join(a, b), c));
        CHECK(ordered.join(a, b) != ordered.join(b, a));
        CHECK(ordered.operation == MPI_OP_NULL);
        CHECK_THROWS_AS(static_cast<void>(reduction_named("product")), Failure);
    }

    TEST_CASE("partners of a list") {
        const std::vector<std::array<int, 2>> pairs{{3, 0}, {1, 2}};
        for (int rank = 0; rank < 4; ++rank) {
            CHECK(partners_in(pairs, rank, 5).to == 3 - rank);
            CHECK(partners_in(pairs, rank, 5).from == 3 - rank);
        }
        CHECK(partners_in(pairs, 4, 5).to == MPI_PROC_NULL);
        Setup asked = setup("send", 8, 3);
        asked.pattern = "list";
        CHECK(refusal(asked) == "request: partners go with pattern list");
        asked.choices.partners = pairs;
        CHECK(refusal(asked) == "request: partners name rank 3, expected ranks below 3");
        asked.choices.partners = {{0, 1}, {1, 2}};
        CHECK(refusal(asked) ==
              "request: partners name rank 1 twice, expected every rank at most once");
        asked.pattern = "half";
        CHECK(refusal(asked) == "request: partners go with pattern list");
    }

    TEST_CASE("what choices an operation has not is refused") {
        Setup asked = setup("probe", 8);
        asked.pattern = "head-to-head";
        CHECK(contains(refusal(asked), "pattern head-to-head is for messages"));
        asked = setup("rsend", 8);
        asked.pattern = "all-to-one";
        CHECK(contains(refusal(asked), "pattern all-to-one is for messages"));
        asked = setup("send", 8);
        asked.pattern = "all-to-one";
        asked.root = 3;
        CHECK(refusal(asked).empty());
        asked = setup("send", 8);
        asked.choices.window = 4;
        CHECK(contains(refusal(asked), "window is for message rates"));
        asked = setup("gather", 8);
        asked.choices.reduction = "max";
        CHECK(contains(refusal(asked), "reduction is for operations"));
        asked = setup("put_lock", 8);
        asked.choices.cache = CacheState::rotated;
        CHECK(contains(refusal(asked), "cache rotate changes memory"));
        asked = setup("bcast", 8);
        asked.choices.cache = CacheState::flushed;
        asked.start = StartBy::window;
        CHECK(contains(refusal(asked), "longer than a window"));
        asked = setup("bcast", 8);
        asked.choices.overlap = true;
        CHECK(contains(refusal(asked), "overlap is for operations"));
        asked = setup("ibcast", 8);
        asked.choices.overlap = true;
        asked.start = StartBy::none;
        CHECK(contains(refusal(asked), "do not go together"));
        asked = setup("allreduce", 8);
        asked.choices.align_bytes = 4;
        CHECK(contains(refusal(asked), "expected 8 or more"));
    }

    TEST_CASE("what is to be cold is larger than the cache") {
        CHECK(cold_bytes(0, 1 << 20) == 2 << 20);
        CHECK(cold_bytes((1 << 20) + 1, 1 << 20) == (1 << 20) + 1);
        CHECK(cold_bytes(4096, 0) == 4096);
        CHECK_THROWS_WITH_AS(static_cast<void>(cold_bytes(1 << 20, 1 << 20)),
                             "request: cache_bytes is 1048576, expected more than the 1048576 "
                             "bytes of this host's last-level cache",
                             Failure);
        CHECK_THROWS_AS(static_cast<void>(cold_bytes(0, 0)), Failure);
    }

    TEST_CASE("every repetition has other memory where caches are cold by turns") {
        Setup asked = setup("bcast", 5000);
        asked.check_data = false;
        asked.choices.cache = CacheState::rotated;
        asked.choices.cache_bytes = last_level_cache_bytes(data_caches()) + 4096;
        Operation operation(asked, find_entry("bcast"));
        const std::size_t copies = operation.cold_bytes() / (8192 + 4096);
        CHECK(operation.cold_bytes() >= asked.choices.cache_bytes);
        std::set<std::byte*> places;
        for (std::size_t i = 0; i < copies; ++i) {
            operation.before(i);
            CHECK(places.insert(operation.context().got.bytes().data()).second);
        }
        operation.before(copies);
        CHECK(places.contains(operation.context().got.bytes().data()));
    }

    TEST_CASE("what is fresh is other data for every rank and in every repetition") {
        Setup asked = setup("bcast", 5000);
        asked.choices.cache = CacheState::fresh;
        CHECK(contains(refusal(asked), "nobody can check"));
        asked.check_data = false;
        std::set<std::vector<std::byte>> seen;
        for (const int rank : {0, 1}) {
            asked.rank = rank;
            asked.root = rank;
            Operation operation(asked, find_entry("bcast"));
            const std::byte* const place = operation.context().got.bytes().data();
            for (std::size_t i = 0; i < 3; ++i) {
                operation.before(i);
                const auto given = operation.context().got.bytes();
                CHECK(given.data() == place);
                CHECK(seen.emplace(given.begin(), given.end()).second);
            }
        }
        asked.root = 0; // who gives nothing writes nothing
        Operation receiving(asked, find_entry("bcast"));
        const auto got = receiving.context().got.bytes();
        const std::vector<std::byte> before(got.begin(), got.end());
        receiving.before(0);
        CHECK(std::ranges::equal(got, before));
        asked.operation = "gather";
        Operation gathered(asked, find_entry("gather"));
        const auto part = gathered.context().given.bytes();
        const std::vector<std::byte> first(part.begin(), part.end());
        gathered.before(0);
        CHECK_FALSE(std::ranges::equal(part, first));
        Setup words = setup("allreduce", 8);
        words.check_data = false;
        words.choices.cache = CacheState::fresh;
        words.choices.reduction = "float-sum";
        CHECK(contains(refusal(words), "no numbers to add"));
    }

    TEST_CASE("memory begins where it is asked for, and comes in turns") {
        for (const std::size_t align_bytes : {std::size_t{0}, std::size_t{1}, std::size_t{512}}) {
            Payload payload(5000, 9, align_bytes);
            const std::vector<std::byte> content(payload.bytes().begin(), payload.bytes().end());
            CHECK(Payload::first_difference(content, 9) == -1);
            payload.replicate(3);
            std::byte* before = nullptr;
            for (const std::size_t copy : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
                payload.use(copy);
                const auto bytes = payload.bytes();
                CHECK(reinterpret_cast<std::uintptr_t>(bytes.data()) % 4096 == align_bytes);
                CHECK(bytes.data() != before);
                CHECK(std::ranges::equal(bytes, content));
                before = bytes.data();
            }
            CHECK(payload.stride_bytes() == 8192);
        }
    }
}
