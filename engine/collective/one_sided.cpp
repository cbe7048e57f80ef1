// One-sided operations: every rank works on the memory of its partner, in each way to make that
// visible. The window is made, by MPI_Win_create, before anything is timed; `exposed` is its
// memory.
#include <array>
#include <cstring>

#include "collective/entry.hpp"
#include "transport/mpi/call.hpp"

namespace sonde::collective {
namespace one_sided_rows {
namespace {

// Memory. `got` is what is checked: what others put here, what was fetched, or both in that order.

void prepare_put(Context& c) {
    c.count = countable(c.message_bytes);
    c.given = c.own(c.message_bytes);
    c.got = c.blank(c.message_bytes);
    c.exposed = c.got.bytes();
}

void prepare_get(Context& c) {
    prepare_put(c);
    c.exposed = c.given.bytes();
}

void prepare_accumulate(Context& c) {
    prepare_put(c);
    c.datatype = MPI_UINT64_T;
    c.count = countable(c.message_bytes / word_bytes);
}

void prepare_fetch(Context& c) {
    prepare_accumulate(c);
    c.got = c.blank(2 * c.message_bytes);
    c.exposed = c.got.bytes().first(c.message_bytes);
}

// What a rank's exposed memory holds before others add to it.
void write_initial(const Context& c, int of_rank, Bytes out) {
    c.write_given(c.ranks + of_rank, 0, out);
}

void initial_exposed(const Context& c, Bytes out) {
    write_initial(c, c.rank, out.first(c.message_bytes));
}

void prepare_swap(Context& c) {
    prepare_fetch(c);
    c.spare = c.blank(word_bytes);
    if (c.has_partners()) {
        write_initial(c, c.to, c.spare.bytes()); // what is compared with, so that all swap
    }
}

Bytes fetched(Context& c) { return c.got.bytes().subspan(c.message_bytes); }

// The calls.

int put(Context& c) {
    return MPI_Put(c.given.bytes().data(), c.count, c.datatype, c.to, 0, c.count, c.datatype,
                   c.window);
}

int get(Context& c) {
    return MPI_Get(c.got.bytes().data(), c.count, c.datatype, c.to, 0, c.count, c.datatype,
                   c.window);
}

int accumulate(Context& c) {
    return MPI_Accumulate(c.given.bytes().data(), c.count, c.datatype, c.to, 0, c.count, c.datatype,
                          MPI_SUM, c.window);
}

int get_accumulate(Context& c) {
    return MPI_Get_accumulate(c.given.bytes().data(), c.count, c.datatype, fetched(c).data(),
                              c.count, c.datatype, c.to, 0, c.count, c.datatype, MPI_SUM, c.window);
}

int fetch_and_op(Context& c) {
    return MPI_Fetch_and_op(c.given.bytes().data(), fetched(c).data(), c.datatype, c.to, 0, MPI_SUM,
                            c.window);
}

int compare_and_swap(Context& c) {
    return MPI_Compare_and_swap(c.given.bytes().data(), c.spare.bytes().data(), fetched(c).data(),
                                c.datatype, c.to, 0, c.window);
}

// What must be there.

std::size_t expect_put(const Context& c, Bytes out) {
    if (!c.has_partners()) {
        return 0;
    }
    c.write_given(c.from, 0, out);
    return out.size();
}

std::size_t expect_get(const Context& c, Bytes out) {
    if (!c.has_partners()) {
        return 0;
    }
    c.write_given(c.to, 0, out);
    return out.size();
}

std::size_t expect_accumulate(const Context& c, Bytes out) {
    if (!c.has_partners()) {
        return 0;
    }
    std::vector<std::byte> more(c.message_bytes);
    write_initial(c, c.rank, out.first(c.message_bytes));
    c.write_given(c.from, 0, more);
    for (std::size_t at = 0; at + word_bytes <= more.size(); at += word_bytes) {
        std::uint64_t sum = 0;
        std::uint64_t term = 0;
        std::memcpy(&sum, out.data() + at, word_bytes);
        std::memcpy(&term, more.data() + at, word_bytes);
        sum += term;
        std::memcpy(out.data() + at, &sum, word_bytes);
    }
    return c.message_bytes;
}

std::size_t expect_get_accumulate(const Context& c, Bytes out) {
    if (expect_accumulate(c, out) == 0) {
        return 0;
    }
    write_initial(c, c.to, out.subspan(c.message_bytes));
    return out.size();
}

std::size_t expect_swap(const Context& c, Bytes out) {
    if (!c.has_partners()) {
        return 0;
    }
    c.write_given(c.from, 0, out.first(c.message_bytes));
    write_initial(c, c.to, out.subspan(c.message_bytes));
    return out.size();
}

std::size_t sends_once(const Context& c) { return c.has_partners() ? c.message_bytes : 0; }

// To the partner, and back what was asked of this rank.
std::size_t sends_twice(const Context& c) { return 2 * sends_once(c); }

// Windows, and the four ways to open and close them for a call.

void open_window(Context& c) {
    mpi::check(MPI_Win_create(c.exposed.data(), static_cast<MPI_Aint>(c.exposed.size()), 1,
                              MPI_INFO_NULL, c.communicator, &c.window),
               "make a window");
    mpi::check(MPI_Win_set_errhandler(c.window, MPI_ERRORS_RETURN), "set its error handler");
}

void open_groups(Context& c) {
    open_window(c);
    if (!c.has_partners()) {
        return;
    }
    MPI_Group all = MPI_GROUP_NULL;
    mpi::check(MPI_Comm_group(c.communicator, &all), "make a group");
    const int to_status = MPI_Group_incl(all, 1, &c.to, &c.to_group);
    const int from_status = MPI_Group_incl(all, 1, &c.from, &c.from_group);
    MPI_Group_free(&all);
    mpi::check(to_status, "make a group");
    mpi::check(from_status, "make a group");
}

void open_locked(Context& c) {
    open_window(c);
    mpi::check(MPI_Win_lock_all(0, c.window), "lock a window");
    c.is_locked = true;
}

template <auto access>
int fenced(Context& c) {
    int status = MPI_Win_fence(MPI_MODE_NOPRECEDE, c.window);
    if (status == MPI_SUCCESS && c.has_partners()) {
        status = access(c);
    }
    return status == MPI_SUCCESS ? MPI_Win_fence(MPI_MODE_NOSUCCEED, c.window) : status;
}

template <auto access>
int exposed_to_one(Context& c) {
    if (!c.has_partners()) {
        return MPI_SUCCESS;
    }
    int status = MPI_Win_post(c.from_group, 0, c.window);
    if (status == MPI_SUCCESS) {
        status = MPI_Win_start(c.to_group, 0, c.window);
    }
    if (status == MPI_SUCCESS) {
        status = access(c);
    }
    if (status == MPI_SUCCESS) {
        status = MPI_Win_complete(c.window);
    }
    return status == MPI_SUCCESS ? MPI_Win_wait(c.window) : status;
}

template <auto access>
int locked(Context& c) {
    if (!c.has_partners()) {
        return MPI_SUCCESS;
    }
    int status = MPI_Win_lock(MPI_LOCK_SHARED, c.to, 0, c.window);
    if (status == MPI_SUCCESS) {
        status = access(c);
    }
    return status == MPI_SUCCESS ? MPI_Win_unlock(c.to, c.window) : status;
}

template <auto access>
int flushed(Context& c) {
    if (!c.has_partners()) {
        return MPI_SUCCESS;
    }
    const int status = access(c);
    return status == MPI_SUCCESS ? MPI_Win_flush(c.to, c.window) : status;
}

// A fence or a wait has done it.
void settle_nothing(Context& /*c*/) {}

void settle_by_lock(Context& c) {
    mpi::check(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, c.rank, 0, c.window), "lock the own window");
    mpi::check(MPI_Win_unlock(c.rank, c.window), "unlock the own window");
}

void settle_by_sync(Context& c) { mpi::check(MPI_Win_sync(c.window), "synchronise a window"); }

// An access without a way to see it.
constexpr Entry put_entry{.prepare = prepare_put, .expect = expect_put, .sent = sends_once};
constexpr Entry get_entry{.prepare = prepare_get, .expect = expect_get, .sent = sends_once};
constexpr Entry accumulate_entry{.sizes = Sizes::words,
                                 .prepare = prepare_accumulate,
                                 .expect = expect_accumulate,
                                 .sent = sends_once,
                                 .initial = initial_exposed};
constexpr Entry get_accumulate_entry{.sizes = Sizes::words,
                                     .prepare = prepare_fetch,
                                     .expect = expect_get_accumulate,
                                     .sent = sends_twice,
                                     .initial = initial_exposed};
constexpr Entry fetch_entry{.sizes = Sizes::one_word,
                            .prepare = prepare_fetch,
                            .expect = expect_get_accumulate,
                            .sent = sends_twice,
                            .initial = initial_exposed};
constexpr Entry swap_entry{.sizes = Sizes::one_word,
                           .prepare = prepare_swap,
                           .expect = expect_swap,
                           .sent = sends_twice,
                           .initial = initial_exposed};

template <auto access>
constexpr Entry by_fence(std::string_view name, Entry entry) {
    entry.name = name;
    entry.call = fenced<access>;
    entry.open = open_window;
    entry.settle = settle_nothing;
    return entry;
}

template <auto access>
constexpr Entry by_pscw(std::string_view name, Entry entry) {
    entry.name = name;
    entry.call = exposed_to_one<access>;
    entry.open = open_groups;
    entry.settle = settle_nothing;
    return entry;
}

template <auto access>
constexpr Entry by_lock(std::string_view name, Entry entry) {
    entry.name = name;
    entry.call = locked<access>;
    entry.open = open_window;
    entry.settle = settle_by_lock;
    return entry;
}

template <auto access>
constexpr Entry by_flush(std::string_view name, Entry entry) {
    entry.name = name;
    entry.call = flushed<access>;
    entry.open = open_locked;
    entry.settle = settle_by_sync;
    return entry;
}

constexpr std::array accesses{
    by_fence<put>("put_fence", put_entry),
    by_pscw<put>("put_pscw", put_entry),
    by_lock<put>("put_lock", put_entry),
    by_flush<put>("put_flush", put_entry),
    by_fence<get>("get_fence", get_entry),
    by_pscw<get>("get_pscw", get_entry),
    by_lock<get>("get_lock", get_entry),
    by_flush<get>("get_flush", get_entry),
    by_fence<accumulate>("accumulate_fence", accumulate_entry),
    by_pscw<accumulate>("accumulate_pscw", accumulate_entry),
    by_lock<accumulate>("accumulate_lock", accumulate_entry),
    by_flush<accumulate>("accumulate_flush", accumulate_entry),
    by_fence<get_accumulate>("get_accumulate_fence", get_accumulate_entry),
    by_pscw<get_accumulate>("get_accumulate_pscw", get_accumulate_entry),
    by_lock<get_accumulate>("get_accumulate_lock", get_accumulate_entry),
    by_flush<get_accumulate>("get_accumulate_flush", get_accumulate_entry),
    by_fence<fetch_and_op>("fetch_and_op_fence", fetch_entry),
    by_pscw<fetch_and_op>("fetch_and_op_pscw", fetch_entry),
    by_lock<fetch_and_op>("fetch_and_op_lock", fetch_entry),
    by_flush<fetch_and_op>("fetch_and_op_flush", fetch_entry),
    by_fence<compare_and_swap>("compare_and_swap_fence", swap_entry),
    by_pscw<compare_and_swap>("compare_and_swap_pscw", swap_entry),
    by_lock<compare_and_swap>("compare_and_swap_lock", swap_entry),
    by_flush<compare_and_swap>("compare_and_swap_flush", swap_entry),
};

constexpr auto table = [] {
    auto entries = accesses;
    for (Entry& entry : entries) {
        entry.group = Group::one_sided;
        entry.partnered = Partnered::any;
        entry.binds = true;
    }
    return entries;
}();

} // namespace
} // namespace one_sided_rows

std::span<const Entry> one_sided() { return one_sided_rows::table; }

} // namespace sonde::collective
