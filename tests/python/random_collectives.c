/* Random collective calls, the same whatever library carries them: operation, type, count, root,
 * communicator, in place, blocking, nonblocking or persistent. Each rank prints a digest of all
 * memory that its calls could have written, every EVERY calls; two runs with one SEED must print the
 * same. FORMS: 1 blocking, 2 nonblocking as well, 3 persistent as well.
 *
 * Usage: random_collectives SEED CALLS EVERY FORMS [THREADS]
 *
 * With THREADS, MPI is started for several threads, and so many call at once, each on communicators
 * of its own.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_ranks = 64, most_elements = 40, pad = 64 };
enum { communicators = 4, types = 5, reductions = 5 };

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Of all ranks alike. */
typedef struct {
    uint64_t state;
} Dice;

static int roll(Dice* dice, int sides) {
    dice->state = mix(dice->state);
    return (int)(dice->state >> 33) % sides;
}

/* How elements lie in memory: so many bytes of `extent`. */
typedef struct {
    MPI_Datatype type;
    int extent;
} Kind;

typedef struct {
    MPI_Comm comm[communicators];
    Kind kinds[types];
    MPI_Datatype matrix;
    MPI_Op ordered; /* products of 2x2 matrices: a b is not b a */
    MPI_Op own_sum;
    int world_rank;
} World;

/* What one call uses; bytes from `memory` on, with a margin on both sides. */
typedef struct {
    unsigned char* memory;
    size_t bytes;
} Buffer;

static void fill(Buffer* buffer, size_t bytes, uint64_t seed) {
    buffer->bytes = bytes + 2 * pad;
    buffer->memory = malloc(buffer->bytes);
    for (size_t i = 0; i < buffer->bytes; ++i) {
        buffer->memory[i] = (unsigned char)mix(seed + i);
    }
}

static uint64_t digest(uint64_t before, const Buffer* buffer) {
    for (size_t i = 0; i < buffer->bytes; ++i) {
        before = (before ^ buffer->memory[i]) * 0x100000001b3u;
    }
    return before;
}

static void multiply(void* left, void* right, int* count, MPI_Datatype* type) {
    (void)type;
    for (int i = 0; i < *count; ++i) {
        const uint32_t* a = (const uint32_t*)left + 4 * i;
        uint32_t* b = (uint32_t*)right + 4 * i;
        const uint32_t c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                               a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
        memcpy(b, c, sizeof c);
    }
}

static void add(void* left, void* right, int* count, MPI_Datatype* type) {
    (void)type;
    for (int i = 0; i < 4 * *count; ++i) {
        ((uint32_t*)right)[i] += ((const uint32_t*)left)[i];
    }
}

static void make_world(World* w, int is_only) {
    MPI_Comm_rank(MPI_COMM_WORLD, &w->world_rank);
    w->comm[0] = MPI_COMM_WORLD;
    if (!is_only) {
        MPI_Comm_dup(MPI_COMM_WORLD, &w->comm[0]);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &w->comm[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -w->world_rank, &w->comm[2]); /* the other way round */
    MPI_Comm_split(MPI_COMM_WORLD, w->world_rank % 2, w->world_rank, &w->comm[3]);
    w->kinds[0] = (Kind){MPI_BYTE, 1};
    w->kinds[1] = (Kind){MPI_INT, 4};
    w->kinds[2] = (Kind){MPI_DOUBLE, 8};
    MPI_Datatype gaps;
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps); /* two ints with a gap between them and behind */
    MPI_Type_create_resized(gaps, 0, 16, &w->kinds[3].type);
    w->kinds[3].extent = 16;
    MPI_Type_free(&gaps);
    int lengths[2] = {1, 1}, places[2] = {1, 0}; /* the second int first */
    MPI_Type_indexed(2, lengths, places, MPI_INT, &w->kinds[4].type);
    w->kinds[4].extent = 8;
    MPI_Type_commit(&w->kinds[3].type);
    MPI_Type_commit(&w->kinds[4].type);
    MPI_Type_contiguous(4, MPI_UINT32_T, &w->matrix);
    MPI_Type_commit(&w->matrix);
    MPI_Op_create(multiply, 0, &w->ordered);
    MPI_Op_create(add, 1, &w->own_sum);
}

static void end_world(World* w) {
    for (int i = 0; i < communicators; ++i) {
        if (w->comm[i] != MPI_COMM_WORLD) {
            MPI_Comm_free(&w->comm[i]);
        }
    }
    MPI_Type_free(&w->kinds[3].type);
    MPI_Type_free(&w->kinds[4].type);
    MPI_Type_free(&w->matrix);
    MPI_Op_free(&w->ordered);
    MPI_Op_free(&w->own_sum);
}

typedef struct {
    int operation, form, in_place, root, rank, ranks, count;
    MPI_Comm comm;
    Kind kind;
    MPI_Op op;
    int counts[most_ranks], places[most_ranks], sent[most_ranks], from[most_ranks];
    MPI_Datatype all_types[most_ranks];
} Call;

/* Waits in ways that differ, and starts persistent ones twice. */
static void await(MPI_Request* request, int form, Dice* dice) {
    int done = 0;
    const int way = roll(dice, 3);
    if (form == 2) {
        MPI_Start(request);
    }
    if (way == 0) {
        MPI_Wait(request, MPI_STATUS_IGNORE);
    } else if (way == 1) {
        MPI_Waitall(1, request, MPI_STATUSES_IGNORE);
    } else {
        while (!done) {
            MPI_Test(request, &done, MPI_STATUS_IGNORE);
        }
    }
    if (form == 2) {
        MPI_Startall(1, request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
        MPI_Request_free(request);
    }
}

#if MPI_VERSION >= 4
#define THREE_FORMS(NAME, INAME, ...)                                                              \
    if (c->form == 0) {                                                                            \
        MPI_##NAME(__VA_ARGS__);                                                                   \
    } else if (c->form == 1) {                                                                     \
        MPI_##INAME(__VA_ARGS__, &request);                                                        \
    } else {                                                                                       \
        MPI_##NAME##_init(__VA_ARGS__, MPI_INFO_NULL, &request);                                   \
    }
#else
#define THREE_FORMS(NAME, INAME, ...)                                                              \
    if (c->form == 0) {                                                                            \
        MPI_##NAME(__VA_ARGS__);                                                                   \
    } else {                                                                                       \
        c->form = 1;                                                                               \
        MPI_##INAME(__VA_ARGS__, &request);                                                        \
    }
#endif

static void perform(Call* c, unsigned char* given, unsigned char* got, Dice* dice) {
    MPI_Request request = MPI_REQUEST_NULL;
    const MPI_Datatype t = c->kind.type;
    const int at_root = c->rank == c->root;
    const void* own = c->in_place ? MPI_IN_PLACE : given;
    const void* root_own = c->in_place && at_root ? MPI_IN_PLACE : given;
    void* root_got = c->in_place && at_root ? MPI_IN_PLACE : got;
    const int n = c->count;
    switch (c->operation) {
    case 0: THREE_FORMS(Barrier, Ibarrier, c->comm) break;
    case 1: THREE_FORMS(Bcast, Ibcast, got, n, t, c->root, c->comm) break;
    case 2: THREE_FORMS(Gather, Igather, root_own, n, t, got, n, t, c->root, c->comm) break;
    case 3:
        THREE_FORMS(Gatherv, Igatherv, root_own, c->counts[c->rank], t, got, c->counts, c->places,
                    t, c->root, c->comm)
        break;
    case 4: THREE_FORMS(Scatter, Iscatter, given, n, t, root_got, n, t, c->root, c->comm) break;
    case 5:
        THREE_FORMS(Scatterv, Iscatterv, given, c->counts, c->places, t, root_got,
                    c->counts[c->rank], t, c->root, c->comm)
        break;
    case 6: THREE_FORMS(Allgather, Iallgather, own, n, t, got, n, t, c->comm) break;
    case 7:
        THREE_FORMS(Allgatherv, Iallgatherv, own, c->counts[c->rank], t, got, c->counts, c->places,
                    t, c->comm)
        break;
    case 8: THREE_FORMS(Alltoall, Ialltoall, own, n, t, got, n, t, c->comm) break;
    case 9:
        THREE_FORMS(Alltoallv, Ialltoallv, own, c->sent, c->places, t, got, c->from, c->places, t,
                    c->comm)
        break;
    case 10: {
        for (int i = 0; i < c->ranks; ++i) { /* displacements in bytes, a type for each */
            c->all_types[i] = t;
            c->places[i] *= c->kind.extent;
        }
        THREE_FORMS(Alltoallw, Ialltoallw, own, c->sent, c->places, c->all_types, got, c->from,
                    c->places, c->all_types, c->comm)
        break;
    }
    case 11: THREE_FORMS(Reduce, Ireduce, root_own, got, n, t, c->op, c->root, c->comm) break;
    case 12: THREE_FORMS(Allreduce, Iallreduce, own, got, n, t, c->op, c->comm) break;
    case 13:
        THREE_FORMS(Reduce_scatter_block, Ireduce_scatter_block, own, got, n, t, c->op, c->comm)
        break;
    default:
        THREE_FORMS(Reduce_scatter, Ireduce_scatter, own, got, c->counts, t, c->op, c->comm)
        break;
    }
    if (c->form != 0) {
        await(&request, c->form, dice);
    }
}

/* Parts of uneven operations: their numbers of elements, one behind the other with gaps between. */
static void roll_parts(Call* c, Dice* dice) {
    int table[most_ranks][most_ranks];
    for (int i = 0; i < c->ranks; ++i) {
        c->counts[i] = roll(dice, 4) == 0 ? 0 : roll(dice, most_elements);
        c->places[i] = i * (most_elements + 1);
        for (int j = 0; j < c->ranks; ++j) {
            table[i][j] = roll(dice, 4) == 0 ? 0 : roll(dice, most_elements);
        }
    }
    for (int i = 0; i < c->ranks; ++i) {
        /* In place what goes to a rank is as much as what comes from it. */
        const int low = i < c->rank ? i : c->rank, high = i < c->rank ? c->rank : i;
        c->sent[i] = c->in_place ? table[low][high] : table[c->rank][i];
        c->from[i] = c->in_place ? table[low][high] : table[i][c->rank];
    }
}

static void roll_reduction(Call* c, const World* w, Dice* dice) {
    static const int extents[reductions] = {4, 8, 8, 16, 16};
    const MPI_Datatype all[reductions] = {MPI_INT, MPI_UINT64_T, MPI_INT64_T, w->matrix, w->matrix};
    const MPI_Op ops[reductions] = {MPI_SUM, MPI_BXOR, MPI_MAX, w->ordered, w->own_sum};
    const int which = roll(dice, reductions);
    c->kind = (Kind){all[which], extents[which]};
    c->op = ops[which];
}

static uint64_t call_once(const World* w, Dice* dice, int number, int forms, uint64_t before) {
    Call c;
    memset(&c, 0, sizeof c);
    const int which = roll(dice, communicators);
    c.comm = w->comm[which];
    MPI_Comm_rank(c.comm, &c.rank);
    MPI_Comm_size(c.comm, &c.ranks);
    c.operation = roll(dice, 15);
    c.form = roll(dice, forms);
    c.in_place = roll(dice, 3) == 0;
    c.kind = w->kinds[roll(dice, types)];
    const int large = roll(dice, 20) == 0 ? 40 : 1;
    c.count = roll(dice, 8) == 0 ? 0 : roll(dice, most_elements) * large;
    if (c.operation >= 11) {
        roll_reduction(&c, w, dice);
    }
    /* Halves differ in their numbers of ranks: as many throws of the dice for both. */
    Dice parts = {mix(dice->state)};
    c.root = roll(&parts, c.ranks);
    roll_parts(&c, &parts);
    Dice waits = {mix(dice->state + 1)};

    const size_t bytes = (size_t)c.ranks * (most_elements + 1) * 40 * (size_t)c.kind.extent;
    Buffer given, got;
    const uint64_t seed = mix((uint64_t)number * 1000003u + (uint64_t)w->world_rank);
    fill(&given, bytes, seed);
    fill(&got, bytes, mix(seed));
    perform(&c, given.memory + pad, got.memory + pad, &waits);
    before = digest(digest(before, &given), &got);
    free(given.memory);
    free(got.memory);
    return before;
}

/* The calls of one thread. */
typedef struct {
    pthread_t thread;
    int number, calls, every, forms;
    uint64_t seed;
    World world;
} Caller;

static void* call_all(void* of) {
    Caller* c = of;
    Dice dice = {mix(c->seed + (uint64_t)c->number)};
    uint64_t all = 0;
    for (int i = 0; i < c->calls; ++i) {
        all = call_once(&c->world, &dice, i, c->forms, all);
        if ((i + 1) % c->every == 0 || i + 1 == c->calls) {
            printf("rank %d thread %d call %d %016llx\n", c->world.world_rank, c->number, i + 1,
                   (unsigned long long)all);
        }
    }
    return NULL;
}

int main(int argc, char** argv) {
    enum { most_threads = 4 };
    Caller callers[most_threads];
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const int calls = argc > 2 ? atoi(argv[2]) : 100;
    const int every = argc > 3 ? atoi(argv[3]) : calls;
    const int forms = argc > 4 ? atoi(argv[4]) : 3;
    const int threads = argc > 5 ? atoi(argv[5]) : 0;
    const int count = threads < 1 ? 1 : threads < most_threads ? threads : most_threads;
    if (threads > 0) {
        int provided;
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    } else {
        MPI_Init(&argc, &argv);
    }
    for (int i = 0; i < count; ++i) {
        Caller* c = &callers[i];
        c->number = i, c->calls = calls, c->every = every, c->forms = forms, c->seed = seed;
        make_world(&c->world, count == 1);
    }
    for (int i = 1; i < count; ++i) {
        pthread_create(&callers[i].thread, NULL, call_all, &callers[i]);
    }
    call_all(&callers[0]);
    for (int i = 1; i < count; ++i) {
        pthread_join(callers[i].thread, NULL);
    }
    for (int i = 0; i < count; ++i) {
        end_world(&callers[i].world);
    }
    MPI_Finalize();
    return 0;
}
