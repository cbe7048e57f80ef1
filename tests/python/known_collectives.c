/* Known collective calls, for what counts them. Each rank of an even number of them makes the same
 * calls; two threads make calls where MPI lets them.
 *
 * Usage: known_collectives finalize|abort|exit
 *        known_collectives kill FOLDER
 *
 * The word says how the ranks end: as they should, rank 0 by MPI_Abort, all by exit() without
 * MPI_Finalize, or rank 0 by a signal that nobody can catch, once all ranks' files in FOLDER were
 * written anew while they met at barriers.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_ranks = 16, elements = 4096 };

static double given[elements], got[elements];

static void first_of_both(void* in, void* inout, int* count, MPI_Datatype* type) {
    (void)type;
    memcpy(inout, in, (size_t)*count * sizeof(double));
}

static void* fifty(void* comm) {
    double in[2] = {1, 2}, out[2];
    for (int i = 0; i < 50; ++i) {
        MPI_Allreduce(in, out, 2, MPI_DOUBLE, MPI_SUM, *(MPI_Comm*)comm);
    }
    return NULL;
}

static void in_threads(void) {
    int level;
    MPI_Query_thread(&level);
    MPI_Comm comms[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    }
    for (int i = 0; i < 2; ++i) {
        if (level == MPI_THREAD_MULTIPLE) {
            pthread_create(&threads[i], NULL, fifty, &comms[i]);
        } else {
            fifty(&comms[i]);
        }
    }
    for (int i = 0; i < 2; ++i) {
        if (level == MPI_THREAD_MULTIPLE) {
            pthread_join(threads[i], NULL);
        }
        MPI_Comm_free(&comms[i]);
    }
}

static void uneven(int rank, int ranks) {
    int counts[most_ranks], places[most_ranks], own[most_ranks];
    for (int i = 0, place = 0; i < ranks; place += ++i) {
        counts[i] = i + 1; /* ints: 4, 8, 12 ... bytes */
        places[i] = place;
        own[i] = i * (rank + 1);
    }
    for (int i = 0; i < 2; ++i) {
        MPI_Gatherv(given, rank + 1, MPI_INT, got, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Scatterv(given, counts, places, MPI_INT, got, rank + 1, MPI_INT, 1, MPI_COMM_WORLD);
        MPI_Allgatherv(given, rank + 1, MPI_INT, got, counts, places, MPI_INT, MPI_COMM_WORLD);
    }
    int received[most_ranks];
    for (int i = 0; i < ranks; ++i) {
        received[i] = rank + 1;
    }
    for (int i = 0; i < ranks; ++i) {
        own[i] = i * (rank + 1);
    }
    /* to rank i so many as i + 1, from each the same */
    MPI_Alltoallv(given, counts, places, MPI_INT, got, received, own, MPI_INT, MPI_COMM_WORLD);
}

static void even(int rank) {
    for (int i = 0; i < 5; ++i) {
        MPI_Allreduce(given, got, 100, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    for (int i = 0; i < 3; ++i) {
        MPI_Alltoall(given, 64, MPI_INT, got, 64, MPI_INT, MPI_COMM_WORLD);
    }
    for (int i = 0; i < 7; ++i) {
        MPI_Bcast(got, 1000, MPI_CHAR, i % 2, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Gather(rank == 0 ? MPI_IN_PLACE : given, 6, MPI_INT, got, 6, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Reduce(given, got, 3, MPI_DOUBLE, MPI_MAX, 1, MPI_COMM_WORLD);
}

static void rarer(int rank) {
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (int i = 0; i < 4; ++i) {
        MPI_Allreduce(given, got, 1, MPI_DOUBLE, MPI_SUM, half);
    }
    MPI_Comm_free(&half);
    for (int i = 0; i < 2; ++i) {
        MPI_Allreduce(MPI_IN_PLACE, got, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Scan(given, got, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Op own;
    MPI_Op_create(first_of_both, 0, &own);
    MPI_Allreduce(given, got, 2, MPI_DOUBLE, own, MPI_COMM_WORLD);
    MPI_Op_free(&own);
    for (int i = 0; i < 3; ++i) {
        MPI_Request request;
        MPI_Iallreduce(given, got, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Datatype gaps;
    MPI_Type_vector(10, 1, 2, MPI_DOUBLE, &gaps);
    MPI_Type_commit(&gaps);
    for (int i = 0; i < 6; ++i) {
        MPI_Bcast(got, 1, gaps, 0, MPI_COMM_WORLD);
    }
    MPI_Type_free(&gaps);
}

static void name_of(char* path, size_t size, const char* folder, int rank) {
    snprintf(path, size, "%s/calls.%d.json", folder, rank);
}

/* Until each rank wrote anew what it called before. */
static void meet_until_all_wrote(const char* folder, int rank, int ranks) {
    char path[4096];
    name_of(path, sizeof path, folder, rank);
    remove(path);
    for (int missing = 1; missing > 0;) {
        MPI_Barrier(MPI_COMM_WORLD);
        missing = 0;
        for (int i = 0; i < ranks; ++i) {
            name_of(path, sizeof path, folder, i);
            missing += access(path, R_OK) != 0;
        }
        MPI_Bcast(&missing, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char** argv) {
    int provided, rank, ranks;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char* end = argc > 1 ? argv[1] : "";
    if (ranks > most_ranks || strlen(end) == 0 || (strcmp(end, "kill") == 0 && argc < 3)) {
        fprintf(stderr, "known_collectives: up to %d ranks, and how to end\n", most_ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    even(rank);
    rarer(rank);
    uneven(rank, ranks);
    in_threads();
    if (strcmp(end, "exit") == 0) {
        exit(rank == 0 ? 3 : 0);
    }
    if (strcmp(end, "abort") == 0 && rank == 0) {
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    if (strcmp(end, "kill") == 0) {
        meet_until_all_wrote(argv[2], rank, ranks);
        if (rank == 0) {
            raise(SIGKILL);
        }
    }
    MPI_Finalize();
    return 0;
}
