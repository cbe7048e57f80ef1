#include "collective/operation.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "collective/executed.hpp"
#include "collective/messages.hpp"
#include "collective/partners.hpp"
#include "collective/persistent.hpp"
#include "core/failure.hpp"
#include "transport/mpi/call.hpp"

namespace sonde::collective {
namespace {

[[nodiscard]] Failure refusal(const Setup& setup, const std::string& why) {
    return {"bad_request", setup.operation + ": " + why};
}

void require_size(const Setup& setup, Sizes sizes) {
    const auto expected = [&](const std::string& what) {
        return refusal(setup, "message_bytes is " + std::to_string(setup.message_bytes) +
                                  ", expected " + what);
    };
    const std::size_t bytes = setup.message_bytes;
    if (sizes == Sizes::none && bytes != 0) {
        throw expected("0");
    }
    if (sizes == Sizes::one_word && bytes != word_bytes) {
        throw expected("8");
    }
    if (sizes == Sizes::words && bytes % word_bytes != 0) {
        throw expected("a multiple of 8");
    }
    if (sizes == Sizes::records && bytes % (2 * word_bytes) != 0) {
        throw expected("a multiple of 16");
    }
}

void require_root(const Setup& setup, const Entry& entry) {
    if (setup.root >= setup.ranks) {
        throw Failure("bad_request", "request: root is " + std::to_string(setup.root) +
                                         ", expected a rank below " + std::to_string(setup.ranks));
    }
    const bool has_root = entry.rooted || setup.pattern == to_one_pattern;
    if (!has_root && (setup.root != 0 || setup.rotate_root)) {
        throw refusal(setup, "root is for operations that have one");
    }
    if (setup.rotate_root && entry.form == Form::persistent) {
        throw refusal(setup, "rotate_root and a persistent operation do not go together: its root "
                             "is fixed when it is made");
    }
}

void require_partners(const Setup& setup, const Entry& entry) {
    if (entry.partnered == Partnered::none) {
        if (setup.pattern != "half" || setup.distance != 1 || !setup.choices.partners.empty()) {
            throw refusal(setup, "pattern is for operations between two ranks");
        }
        return;
    }
    if (setup.ranks < 2) {
        throw refusal(setup, "it needs 2 ranks, and this MPI program has 1");
    }
    if (entry.partnered == Partnered::matching && !is_matching(setup.pattern)) {
        throw refusal(setup, "it goes to a rank and back, which pattern " + setup.pattern +
                                 " has not; half and pairs have");
    }
    if ((setup.pattern == head_on_pattern && entry.head_on == nullptr) ||
        (setup.pattern == to_one_pattern && entry.to_one == nullptr)) {
        throw refusal(setup, "pattern " + setup.pattern +
                                 " is for messages that can be sent so, such as send");
    }
    if ((setup.pattern == list_pattern) == setup.choices.partners.empty()) {
        throw Failure("bad_request", "request: partners go with pattern list");
    }
}

void require_choices(const Setup& setup, const Entry& entry) {
    const OperationChoices& choices = setup.choices;
    if (choices.window != 0 && !entry.windowed) {
        throw refusal(setup, "window is for message rates");
    }
    if (!choices.reduction.empty() && !entry.reduces) {
        throw refusal(setup, "reduction is for operations that join words of all ranks");
    }
    if (!choices.datatype.empty() && !entry.reduces) {
        throw refusal(setup, "datatype is for operations that join words of all ranks");
    }
    if (choices.cache == CacheState::rotated && entry.binds) {
        throw refusal(setup,
                      "cache rotate changes memory between repetitions, which this operation "
                      "gives to MPI before the first; cache flush does not");
    }
    if (choices.cache == CacheState::flushed && setup.start == StartBy::window) {
        throw refusal(setup, "cache flush takes longer than a window; start by a barrier");
    }
    if (choices.cache == CacheState::fresh && setup.check_data) {
        throw refusal(setup, "cache fresh gives other data in every repetition, which nobody can "
                             "check; cache flush leaves the data as it is");
    }
    if (choices.cache == CacheState::fresh &&
        !takes_any_bits(reduction_named(choices.reduction, choices.datatype))) {
        throw refusal(setup, "cache fresh gives random bits, which are no numbers to add");
    }
    if (choices.overlap && entry.begin == nullptr) {
        throw refusal(setup, "overlap is for operations that can be begun and waited for, such as "
                             "ibcast or isend_irecv");
    }
    if (choices.overlap && setup.start != StartBy::barrier) {
        throw refusal(setup,
                      "overlap and a start by another way than a barrier do not go together");
    }
    const bool has_words = entry.sizes != Sizes::any && entry.sizes != Sizes::none;
    if (choices.align_bytes % word_bytes != 0 && has_words) {
        throw refusal(setup, "align_bytes is " + std::to_string(choices.align_bytes) +
                                 ", expected 8 or more for words of 8 bytes");
    }
}

// The way of the entry's call that the pattern asks for.
Entry in_pattern(Entry entry, std::string_view pattern) {
    if (pattern == head_on_pattern) {
        entry.call = entry.head_on;
    } else if (pattern == to_one_pattern) {
        entry.call = entry.to_one;
        entry.expect = expect_at_root;
        entry.sent = sends_to_root;
    }
    return entry;
}

Entry in_way(const Entry& entry, const Setup& setup) {
    return setup.choices.schedule ? by_schedule(entry, *setup.choices.schedule) : entry;
}

void require_possible(const Setup& setup, const Entry& entry) {
    require_size(setup, entry.sizes);
    require_root(setup, entry);
    require_partners(setup, entry);
    require_choices(setup, entry);
    if (setup.uneven && !entry.divides) {
        throw refusal(setup, "uneven is for operations whose ranks may give parts of other sizes");
    }
}

// Throws Failure("unsupported") where the library has none.
void* persistent_function(const Setup& setup, std::string_view name) {
    void* const found = find_persistent(name);
    if (found == nullptr) {
        throw Failure("unsupported", setup.operation + ": this MPI library has no " +
                                         persistent_name(name) + ", which came with MPI 4");
    }
    return found;
}

} // namespace

Operation::Operation(const Setup& setup, const Entry& entry)
    : entry_(in_way(in_pattern(entry, setup.pattern), setup)), first_root_(setup.root),
      context_(setup), cold_(prepare(setup)) {
    if (context_.check) {
        expected_.resize(context_.got.bytes().size());
    }
}

void Operation::find_partners(const Setup& setup) {
    if (entry_.partnered == Partnered::none || setup.pattern == to_one_pattern) {
        return;
    }
    const Partners partners =
        setup.pattern == list_pattern
            ? partners_in(setup.choices.partners, setup.rank, setup.ranks)
            : partners_of(setup.pattern, setup.distance, setup.rank, setup.ranks);
    context_.to = partners.to;
    context_.from = partners.from;
}

// All memory but that of cold caches, which has as many copies as there is room for.
Context& Operation::prepare(const Setup& setup) {
    require_possible(setup, entry_);
    find_partners(setup);
    if (entry_.form == Form::persistent) {
        persistent_ = persistent_function(setup, entry_.name);
    }
    entry_.prepare(context_);
    if (setup.pattern == to_one_pattern) {
        prepare_to_one(context_);
    }
    if (context_.choices.schedule) {
        context_.executed.emplace(context_, entry_);
    }
    if (!context_.check && entry_.initial != nullptr) {
        entry_.initial(context_, context_.got.bytes());
    }
    return context_;
}

void Operation::open() {
    if (context_.executed) {
        context_.executed->open();
    }
    if (entry_.open != nullptr) {
        entry_.open(context_);
    }
    if (entry_.form == Form::persistent) {
        mpi::check(entry_.make_persistent(context_, persistent_), "make a persistent operation");
    }
}

void Operation::before(std::size_t i) {
    context_.repetition = i;
    if (context_.rotates) {
        context_.root = static_cast<int>((static_cast<std::size_t>(first_root_) + i) %
                                         static_cast<std::size_t>(context_.ranks));
    }
    if (context_.executed) {
        context_.executed->turn_to_root();
    }
    cold_.turn(context_);
    if (context_.check) {
        clear();
        if (entry_.settle != nullptr) {
            entry_.settle(context_);
            wait_for_all();
        }
    }
    cold_.flush(context_);
    if (entry_.ready != nullptr) {
        entry_.ready(context_);
        wait_for_all();
    }
}

bool Operation::after() {
    if (context_.executed) {
        context_.executed->settle();
    }
    if (entry_.after != nullptr) {
        entry_.after(context_);
    }
    if (!context_.check) {
        return true;
    }
    if (entry_.settle != nullptr) {
        wait_for_all();
        entry_.settle(context_);
    }
    const bool is_intact = intact();
    if (entry_.settle != nullptr) {
        wait_for_all(); // before anyone changes what others look at
    }
    return is_intact;
}

void Operation::clear() {
    const auto got = context_.got.bytes();
    expected_bytes_ = entry_.expect(context_, expected_);
    std::transform(expected_.begin(),
                   expected_.begin() + static_cast<std::ptrdiff_t>(expected_bytes_), got.begin(),
                   [](std::byte byte) { return ~byte; });
    if (entry_.initial != nullptr) {
        entry_.initial(context_, got);
    }
}

bool Operation::intact() {
    return std::ranges::equal(context_.got.bytes().first(expected_bytes_),
                              std::span(expected_).first(expected_bytes_));
}

void Operation::wait_for_all() const {
    mpi::check(MPI_Barrier(context_.communicator), "synchronise the ranks");
}

} // namespace sonde::collective
