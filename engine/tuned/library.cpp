#include "tuned/library.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <utility>

#include "core/failure.hpp"
#include "transport/mpi/name_hash.hpp"
#include "tuned/calls.hpp"

namespace sonde::tuned {

namespace {

constexpr const char* rules_variable = "NETSONDE_RULES";
constexpr const char* report_variable = "NETSONDE_RULES_REPORT";
constexpr const char* calls_variable = "NETSONDE_CALLS";
constexpr const char* threads_variable = "NETSONDE_RULES_THREADS";
constexpr std::size_t most_said = 400;

bool is_set(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && std::string_view(value) == "1";
}

std::string value_of(const char* variable) {
    const char* value = std::getenv(variable);
    return value == nullptr ? "" : value;
}

void say(const std::string& sentence) {
    std::cerr << "netsonde: " + sentence.substr(0, most_said) + "\n" << std::flush;
}

// The same as MPI's ranks are placed by elsewhere: a host is a kernel and a name.
std::int64_t host_number() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) {
        name[0] = '\0';
    }
    return mpi::number_of(name.data());
}

// The text of rank 0's file for all; nothing where there is none. Says what is wrong.
std::optional<std::string> shared_text(int rank) {
    std::string text;
    std::int64_t bytes = -1;
    if (rank == 0) {
        const std::string path = value_of(rules_variable);
        try {
            if (!path.empty()) {
                text = text_of_file(path);
                static_cast<void>(read_rules(text));
                bytes = static_cast<std::int64_t>(text.size());
            }
        } catch (const std::exception& error) {
            say("the rules of " + path + " are not followed: " + error.what());
        }
    }
    require(PMPI_Bcast(&bytes, 1, MPI_INT64_T, 0, MPI_COMM_WORLD));
    if (bytes < 0) {
        return std::nullopt;
    }
    text.resize(static_cast<std::size_t>(bytes));
    require(PMPI_Bcast(text.data(), static_cast<int>(bytes), MPI_CHAR, 0, MPI_COMM_WORLD));
    return text;
}

int forget_group(MPI_Comm /*communicator*/, int /*keyval*/, void* value, void* /*extra*/) {
    delete static_cast<std::shared_ptr<Group>*>(value);
    return MPI_SUCCESS;
}

} // namespace

bool is_mpis_own(MPI_Op operation) {
    const std::array known{MPI_MAX, MPI_MIN,  MPI_SUM,  MPI_PROD,   MPI_LAND,   MPI_BAND,   MPI_LOR,
                           MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE};
    return std::find(known.begin(), known.end(), operation) != known.end();
}

Library& Library::here() {
    // Never destroyed: MPI may call back after the end of main().
    static Library* const library = new Library;
    return *library;
}

int Library::thread_level(int asked) noexcept {
    return is_set(threads_variable) ? std::max<int>(asked, MPI_THREAD_MULTIPLE) : asked;
}

void Library::begin() noexcept {
    try {
        int rank = 0;
        require(PMPI_Comm_rank(MPI_COMM_WORLD, &rank));
        reports_ = is_set(report_variable);
        const std::optional<std::string> text = shared_text(rank);
        int reports = reports_ ? 1 : 0;
        require(PMPI_Bcast(&reports, 1, MPI_INT, 0, MPI_COMM_WORLD));
        reports_ = reports != 0;
        read(text);
        count_calls(rank);
    } catch (const std::exception& error) {
        watched_.fill(false);
        say(std::string("the rules are not followed: ") + error.what());
    } catch (const MpiError&) {
        watched_.fill(false);
        say("the rules are not followed: MPI cannot bring them to all ranks");
    }
}

void Library::read(const std::optional<std::string>& text) {
    if (text) {
        rules_ = read_rules(*text);
    }
    ways_ = std::make_unique<Ways>(rules_);
    meet();
    for (const Rule& rule : rules_) {
        bool& is_watched = watched_[static_cast<std::size_t>(rule.operation)];
        is_watched = is_watched || rule.schedule != nullptr;
    }
    if (reports_) {
        watched_.fill(true);
    }
    take_in(MPI_COMM_WORLD);
}

// Into the folder that is named. Programs that the program starts have ranks of the same numbers:
// they are not counted.
void Library::count_calls(int rank) {
    const std::string folder = value_of(calls_variable);
    MPI_Comm parent = MPI_COMM_NULL;
    require(PMPI_Comm_get_parent(&parent));
    if (folder.empty() || parent != MPI_COMM_NULL) {
        return;
    }
    ::unsetenv(calls_variable); // programs that this one starts are none of it
    counts_ = std::make_unique<CallCounts>(folder, rank, static_cast<int>(hosts_.size()));
    watched_.fill(true);
    static_cast<void>(std::atexit([] { here().tell_counts(CallCounts::End::exit); }));
}

void Library::tell_counts(CallCounts::End end) const noexcept {
    if (counts_) {
        counts_->finish(end);
    }
}

// Who is where, and what MPI can do; all ranks alike.
void Library::meet() {
    int ranks = 0;
    require(PMPI_Comm_size(MPI_COMM_WORLD, &ranks));
    hosts_.resize(static_cast<std::size_t>(ranks));
    const std::int64_t host = host_number();
    require(PMPI_Allgather(&host, 1, MPI_INT64_T, hosts_.data(), 1, MPI_INT64_T, MPI_COMM_WORLD));
    int level = MPI_THREAD_SINGLE;
    require(PMPI_Query_thread(&level));
    int has_threads = level == MPI_THREAD_MULTIPLE ? 1 : 0;
    require(PMPI_Allreduce(MPI_IN_PLACE, &has_threads, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    has_threads_ = has_threads != 0;
    void* most = nullptr;
    int is_there = 0;
    require(PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &is_there));
    if (is_there != 0) {
        most_tag_ = *static_cast<int*>(most);
    }
    require(PMPI_Comm_group(MPI_COMM_WORLD, &world_));
    require(PMPI_Comm_dup(MPI_COMM_SELF, &itself_));
    require(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_group, &keyval_, nullptr));
}

void Library::end() noexcept {
    tell_counts(CallCounts::End::finalize);
    try {
        background_.stop();
        if (reports_ && ways_) {
            int rank = 0;
            require(PMPI_Comm_rank(MPI_COMM_WORLD, &rank));
            std::cerr << ways_->table(MPI_COMM_WORLD, rank) << std::flush;
        }
        watched_.fill(false);
        if (keyval_ != MPI_KEYVAL_INVALID) {
            // Where nothing was kept, there is nothing to forget.
            for (const MPI_Comm communicator : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
                void* value = nullptr;
                int is_there = 0;
                require(PMPI_Comm_get_attr(communicator, keyval_, &value, &is_there));
                if (is_there != 0) {
                    require(PMPI_Comm_delete_attr(communicator, keyval_));
                }
            }
            require(PMPI_Comm_free_keyval(&keyval_));
            require(PMPI_Group_free(&world_));
            require(PMPI_Comm_free(&itself_));
        }
        free_retired();
    } catch (const MpiError&) { // the program ends anyway
    } catch (const std::exception&) {
    }
}

int Library::next_own_tag() noexcept {
    const std::uint32_t number = told_.fetch_add(1, std::memory_order_relaxed);
    return static_cast<int>(number % static_cast<std::uint32_t>(most_tag_));
}

void Library::tell_itself(int tag, int status) noexcept {
    const std::byte failed{};
    PMPI_Send(&failed, status == MPI_SUCCESS ? 0 : 1, MPI_BYTE, 0, tag, itself_);
}

std::shared_ptr<Group> Library::group_of(MPI_Comm communicator) {
    void* value = nullptr;
    int is_there = 0;
    require(PMPI_Comm_get_attr(communicator, keyval_, &value, &is_there));
    if (is_there != 0) {
        return *static_cast<std::shared_ptr<Group>*>(value);
    }
    auto kept = std::make_unique<std::shared_ptr<Group>>(make_group(communicator));
    std::shared_ptr<Group> group = *kept;
    require(PMPI_Comm_set_attr(communicator, keyval_, kept.get()));
    static_cast<void>(kept.release()); // forget_group() has it
    return group;
}

std::shared_ptr<Group> Library::make_group(MPI_Comm communicator) const {
    int is_between_groups = 0;
    require(PMPI_Comm_test_inter(communicator, &is_between_groups));
    if (is_between_groups != 0) {
        return std::make_shared<Group>();
    }
    Caller caller;
    require(PMPI_Comm_rank(communicator, &caller.rank));
    require(PMPI_Comm_size(communicator, &caller.ranks));
    const std::optional<int> on_a_host = ranks_per_host(communicator, caller.ranks);
    if (!on_a_host) {
        return std::make_shared<Group>();
    }
    caller.ranks_per_host = *on_a_host;
    return std::make_shared<Group>(caller, FittingRules(rules_, caller.ranks, *on_a_host),
                                   most_tag_, &Library::retire);
}

// Of the host with most; nothing where not all of them are of this world.
std::optional<int> Library::ranks_per_host(MPI_Comm communicator, int ranks) const {
    MPI_Group members = MPI_GROUP_NULL;
    require(PMPI_Comm_group(communicator, &members));
    std::vector<int> own(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
        own[static_cast<std::size_t>(rank)] = rank;
    }
    std::vector<int> of_world(own.size());
    const int status =
        PMPI_Group_translate_ranks(members, ranks, own.data(), world_, of_world.data());
    require(PMPI_Group_free(&members));
    require(status);
    std::map<std::int64_t, int> counts;
    int most = 0;
    for (const int rank : of_world) {
        if (rank < 0 || static_cast<std::size_t>(rank) >= hosts_.size()) {
            return std::nullopt;
        }
        most = std::max(most, ++counts[hosts_[static_cast<std::size_t>(rank)]]);
    }
    return most;
}

void Library::take_in(MPI_Comm made) noexcept {
    const bool is_watching = std::find(watched_.begin(), watched_.end(), true) != watched_.end();
    if (!is_watching || !has_threads_ || made == MPI_COMM_NULL) {
        return;
    }
    try {
        const std::shared_ptr<Group> group = group_of(made);
        if (group->rules().any()) {
            group->make_own(made);
        }
    } catch (const MpiError&) { // the calls that need it pass on
    } catch (const std::exception&) {
    }
}

void Library::retire(MPI_Comm own) {
    Library& library = here();
    const std::scoped_lock lock(library.mutex_);
    library.retired_.push_back(own);
}

void Library::free_retired() noexcept {
    std::vector<MPI_Comm> retired;
    {
        const std::scoped_lock lock(mutex_);
        retired.swap(retired_);
    }
    for (MPI_Comm& own : retired) {
        PMPI_Comm_free(&own);
    }
}

const Rule* Library::rule_for(Wanted& wanted, Form form, MPI_Comm communicator, Group& group) {
    const OperationRow& row = row_of(wanted.operation);
    const FittingRules& rules = group.rules();
    const auto pass = [&](Passed why) -> const Rule* {
        passed(wanted.operation, form, why);
        return nullptr;
    };
    const bool returns_early = form != Form::blocking;
    if (returns_early && !has_threads_) {
        return pass(Passed::threads);
    }
    const bool has_own_operation =
        wanted.joined.operation != MPI_OP_NULL && !is_mpis_own(wanted.joined.operation);
    if (returns_early && has_own_operation) {
        return pass(Passed::own_operation);
    }
    const Rule* rule = rules.for_all_sizes(wanted.operation);
    const bool needs_sizes =
        row.known == Known::own &&
        (rule == nullptr || (rule->schedule != nullptr && !rule->schedule->uses.own_sizes));
    if (form == Form::started && !group.has_own()) {
        return pass(Passed::first_call);
    }
    if (needs_sizes) {
        if (form == Form::started) {
            return pass(Passed::sizes);
        }
        group.make_own(communicator);
        group.share_sizes(wanted.sizes);
    }
    if (row.is_uneven) {
        std::int64_t all = 0;
        for (const std::int64_t size : wanted.sizes) {
            all += size;
        }
        wanted.bytes = all / static_cast<std::int64_t>(wanted.sizes.size());
    }
    if (needs_sizes || row.known == Known::all) {
        rule = rules.find(wanted.operation, wanted.bytes);
    }
    if (rule == nullptr) {
        return pass(Passed::no_rule);
    }
    if (rule->schedule == nullptr) {
        return pass(Passed::by_rule);
    }
    if (has_own_operation) {
        int commutes = 0;
        require(PMPI_Op_commutative(wanted.joined.operation, &commutes));
        wanted.commutes = commutes != 0;
        if (!wanted.commutes && rule->schedule->uses.commutative) {
            return pass(Passed::order);
        }
    }
    group.make_own(communicator);
    return rule;
}

} // namespace sonde::tuned
