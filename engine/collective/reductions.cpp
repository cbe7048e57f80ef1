#include "collective/reductions.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "collective/context.hpp"
#include "collective/operation_choices.hpp"
#include "core/failure.hpp"
#include "transport/mpi/call.hpp"

namespace sonde::collective {
namespace {

using Word = std::uint64_t;

Word as_it_is(Word word) noexcept { return word; }

Word sum(Word left, Word right) noexcept { return left + right; }

// The elements of a word, each joined with its like.
template <class Element, Element (*join)(Element, Element) noexcept>
Word each(Word left, Word right) noexcept {
    using Elements = std::array<Element, sizeof(Word) / sizeof(Element)>;
    auto into = std::bit_cast<Elements>(left);
    const auto from = std::bit_cast<Elements>(right);
    for (std::size_t i = 0; i < into.size(); ++i) {
        into[i] = join(into[i], from[i]);
    }
    return std::bit_cast<Word>(into);
}

// Integers wrap.
template <class Element>
Element added(Element left, Element right) noexcept {
    if constexpr (std::is_integral_v<Element>) {
        return static_cast<Element>(static_cast<Word>(left) + static_cast<Word>(right));
    } else {
        return left + right;
    }
}
template <class Element>
Element lesser(Element left, Element right) noexcept {
    return std::min(left, right);
}
template <class Element>
Element greater(Element left, Element right) noexcept {
    return std::max(left, right);
}
Word all_bits(Word left, Word right) noexcept { return left | right; }

// Sums of so small integers are exact, whatever is added first: as double 20 bits of each, as float
// 8, so of up to 65,536 ranks.
Word small_double(Word word) noexcept {
    constexpr unsigned other_bits = 44;
    return std::bit_cast<Word>(static_cast<double>(word >> other_bits));
}
Word small_floats(Word word) noexcept {
    constexpr unsigned other_bits = 24;
    const auto halves = std::bit_cast<std::array<std::uint32_t, 2>>(word);
    return std::bit_cast<Word>(std::array{static_cast<float>(halves[0] >> other_bits),
                                          static_cast<float>(halves[1] >> other_bits)});
}

using Join = Word (*)(Word, Word) noexcept;

// What MPI joins; nullptr: MPI has no such operation of it.
struct Datatype {
    std::string_view name;
    MPI_Datatype type;
    std::size_t bytes;
    Word (*term)(Word) noexcept;
    Join sum;
    Join least;
    Join most;
    Join all_bits;
};

template <class Element>
Datatype datatype_of(std::string_view name, MPI_Datatype type, Word (*term)(Word) noexcept) {
    return {name,
            type,
            sizeof(Element),
            term,
            each<Element, added<Element>>,
            each<Element, lesser<Element>>,
            each<Element, greater<Element>>,
            std::is_integral_v<Element> ? all_bits : nullptr};
}

Datatype datatype_named(std::string_view name) {
    const std::array known{
        datatype_of<signed char>("char", MPI_CHAR, as_it_is),
        Datatype{"byte", MPI_BYTE, 1, as_it_is, nullptr, nullptr, nullptr, all_bits},
        datatype_of<int>("int", MPI_INT, as_it_is),
        datatype_of<float>("float", MPI_FLOAT, small_floats),
        datatype_of<double>("double", MPI_DOUBLE, small_double),
        datatype_of<Word>("uint64", MPI_UINT64_T, as_it_is),
    };
    static_assert(known.size() == datatype_names.size());
    const auto* const found =
        std::ranges::find(known, name.empty() ? "uint64" : name, &Datatype::name);
    if (found == known.end()) {
        throw Failure("bad_request",
                      "request: datatype is " + std::string(name) + ", which is none");
    }
    return *found;
}

// A word is the map x -> a x + b of integers modulo 2^32, a below b; joined are maps one after the
// other, which is associative and depends on the order. Odd factors, whose products are never 0.
Word odd_factor(Word word) noexcept { return word | 1U; }

Word one_after_the_other(Word left, Word right) noexcept {
    const auto factor = [](Word map) { return static_cast<std::uint32_t>(map); };
    const auto added = [](Word map) { return static_cast<std::uint32_t>(map >> 32U); };
    const std::uint32_t a = factor(right) * factor(left);
    const std::uint32_t b = factor(right) * added(left) + added(right);
    return (static_cast<Word>(b) << 32U) | a;
}

template <Word (*join)(Word, Word) noexcept>
void join_in_place(void* left, void* right, int* words, MPI_Datatype* /*datatype*/) {
    const auto* const from = static_cast<const std::byte*>(left);
    auto* const into = static_cast<std::byte*>(right);
    for (std::size_t i = 0; i < static_cast<std::size_t>(*words); ++i) {
        Word a = 0;
        Word b = 0;
        std::memcpy(&a, from + i * word_bytes, word_bytes);
        std::memcpy(&b, into + i * word_bytes, word_bytes);
        const Word joined = join(a, b);
        std::memcpy(into + i * word_bytes, &joined, word_bytes);
    }
}

// What was there stays: only the movement of the data is left to be measured.
Word right_one(Word /*left*/, Word right) noexcept { return right; }
void join_nothing(void* /*left*/, void* /*right*/, int* /*words*/, MPI_Datatype* /*datatype*/) {}

// Whole words only.
template <class Change>
void change_words(Bytes content, Change change) {
    for (std::size_t at = 0; at + word_bytes <= content.size(); at += word_bytes) {
        Word word = 0;
        std::memcpy(&word, content.data() + at, word_bytes);
        word = change(word, at);
        std::memcpy(content.data() + at, &word, word_bytes);
    }
}

void make_terms(const Context& c, Bytes content) {
    change_words(content, [&](Word word, std::size_t) { return c.reduction.term(word); });
}

void write_terms(const Context& c, int of_rank, std::size_t offset, Bytes out) {
    c.write_given(c.reduction.alike ? 0 : of_rank, offset, out);
    make_terms(c, out);
}

} // namespace

Reduction reduction_named(std::string_view name, std::string_view datatype) {
    constexpr bool commutes = true;
    constexpr bool alike = true;
    const Datatype of = datatype_named(name == "float-sum" ? "double" : datatype);
    const auto by_mpi = [&](std::string_view named, MPI_Op operation, Join join) {
        Reduction made{named, of.type, operation, of.term, join};
        made.element_bytes = of.bytes;
        return made;
    };
    const std::array known{
        by_mpi("sum", MPI_SUM, of.sum),
        by_mpi("min", MPI_MIN, of.least),
        by_mpi("max", MPI_MAX, of.most),
        by_mpi("or", MPI_BOR, of.all_bits),
        by_mpi("float-sum", MPI_SUM, of.sum),
        Reduction{"ordered", MPI_UINT64_T, MPI_OP_NULL, odd_factor, one_after_the_other,
                  join_in_place<one_after_the_other>, !commutes},
        Reduction{"own-sum", MPI_UINT64_T, MPI_OP_NULL, as_it_is, sum, join_in_place<sum>},
        Reduction{"null", MPI_UINT64_T, MPI_OP_NULL, as_it_is, right_one, join_nothing, commutes,
                  alike},
    };
    static_assert(known.size() == reduction_names.size());
    const auto* const found =
        std::ranges::find(known, name.empty() ? "sum" : name, &Reduction::name);
    if (found == known.end()) {
        throw Failure("bad_request",
                      "request: reduction is " + std::string(name) + ", which is none");
    }
    const bool of_one_datatype = found->function != nullptr || found->name == "float-sum";
    if (found->join == nullptr || (of_one_datatype && !datatype.empty())) {
        throw Failure("bad_request", "request: datatype " + std::string(datatype) +
                                         " and reduction " + std::string(found->name) +
                                         " do not go together");
    }
    return *found;
}

bool takes_any_bits(const Reduction& reduction) noexcept {
    return reduction.datatype != MPI_FLOAT && reduction.datatype != MPI_DOUBLE;
}

void open_reduction(Context& c) {
    if (c.reduction.function != nullptr) {
        mpi::check(MPI_Op_create(c.reduction.function, c.reduction.commutes ? 1 : 0,
                                 &c.reduction.operation),
                   "make a reduction");
        c.owns_reduction = true;
    }
}

Payload own_terms(const Context& c, std::size_t bytes) {
    Payload payload = c.own(bytes);
    write_terms(c, c.rank, 0, payload.bytes());
    return payload;
}

void write_joined(const Context& c, int end, std::size_t offset, Bytes out) {
    write_terms(c, 0, offset, out);
    std::vector<std::byte> term(out.size());
    for (int source = 1; source < end; ++source) {
        write_terms(c, source, offset, term);
        change_words(out, [&](Word left, std::size_t at) {
            Word right = 0;
            std::memcpy(&right, term.data() + at, word_bytes);
            return c.reduction.join(left, right);
        });
    }
}

} // namespace sonde::collective
