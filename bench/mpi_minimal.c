/* The least that a ping-pong over MPI needs: no time of any single message is taken. What netsonde
 * finds for the same messages is compared with it.
 *
 *     mpiexec -n 2 mpi_minimal BYTES ROUND_TRIPS BLOCKS CPU0 CPU1 [each]
 *
 * Writes, for each block of so many round trips, their mean in ns; the first block is a warm-up and
 * is left out. With `each` it reads the clock before and after each round trip, as netsonde does:
 * what that costs is then in both. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int pin_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set);
}

struct Buffers {
    char* out;
    char* in;
    int bytes;
};

static void round_trip(int rank, const struct Buffers* with) {
    if (rank == 0) {
        MPI_Send(with->out, with->bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(with->in, with->bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(with->in, with->bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(with->out, with->bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

static double mean_of_block(int rank, const struct Buffers* with, int trips) {
    const double begin = now_ns();
    for (int i = 0; i < trips; ++i) {
        round_trip(rank, with);
    }
    return (now_ns() - begin) / trips;
}

static double mean_of_each(int rank, const struct Buffers* with, int trips) {
    double all = 0.0;
    for (int i = 0; i < trips; ++i) {
        const double begin = now_ns();
        round_trip(rank, with);
        all += now_ns() - begin;
    }
    return all / trips;
}

int main(int argc, char** argv) {
    int rank = 0;
    int ranks = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int each = argc == 7 && strcmp(argv[6], "each") == 0;
    const int complete = argc == 6 || each;
    const int bytes = complete ? atoi(argv[1]) : 0;
    const int trips = complete ? atoi(argv[2]) : 0;
    const int blocks = complete ? atoi(argv[3]) : 0;
    if (ranks != 2 || bytes < 1 || trips < 1 || blocks < 1 || pin_to(atoi(argv[4 + rank])) != 0) {
        fprintf(stderr, "usage: mpiexec -n 2 mpi_minimal BYTES ROUND_TRIPS BLOCKS CPU0 CPU1 [each]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const struct Buffers with = {calloc(1, (size_t)bytes), calloc(1, (size_t)bytes), bytes};
    double* means = calloc((size_t)blocks + 1, sizeof *means);
    for (int block = 0; block <= blocks; ++block) {
        means[block] = (each ? mean_of_each : mean_of_block)(rank, &with, trips);
    }
    for (int block = 1; rank == 0 && block <= blocks; ++block) {
        printf("%.1f\n", means[block]);
    }
    free(with.out);
    free(with.in);
    free(means);
    MPI_Finalize();
    return 0;
}
