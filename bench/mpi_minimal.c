/* The least that a ping-pong over MPI needs: no time of any single message is taken. What netsonde
 * finds for the same messages is compared with it.
 *
 *     mpiexec -n 2 mpi_minimal BYTES ROUND_TRIPS BLOCKS CPU0 CPU1
 *
 * Writes, for each block of so many round trips, their mean in ns; the first block is a warm-up and
 * is left out. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(int argc, char** argv) {
    int rank = 0;
    int ranks = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int bytes = argc == 6 ? atoi(argv[1]) : 0;
    const int trips = argc == 6 ? atoi(argv[2]) : 0;
    const int blocks = argc == 6 ? atoi(argv[3]) : 0;
    if (ranks != 2 || bytes < 1 || trips < 1 || blocks < 1 || pin_to(atoi(argv[4 + rank])) != 0) {
        fprintf(stderr, "usage: mpiexec -n 2 mpi_minimal BYTES ROUND_TRIPS BLOCKS CPU0 CPU1\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    char* out = calloc(1, (size_t)bytes);
    char* in = calloc(1, (size_t)bytes);
    double* means = calloc((size_t)blocks + 1, sizeof *means);
    for (int block = 0; block <= blocks; ++block) {
        const double begin = now_ns();
        for (int i = 0; i < trips; ++i) {
            if (rank == 0) {
                MPI_Send(out, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
                MPI_Recv(in, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(out, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            }
        }
        means[block] = (now_ns() - begin) / trips;
    }
    for (int block = 1; rank == 0 && block <= blocks; ++block) {
        printf("%.1f\n", means[block]);
    }
    free(out);
    free(in);
    free(means);
    MPI_Finalize();
    return 0;
}
