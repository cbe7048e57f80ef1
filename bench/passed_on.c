/* What a call of a collective costs one rank alone, in blocks of CALLS. Usage: passed_on CALLS BLOCKS;
 * prints the median block's ns per call. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int by_value(const void* left, const void* right) {
    const double a = *(const double*)left, b = *(const double*)right;
    return a < b ? -1 : a > b;
}

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

int main(int argc, char** argv) {
    if (argc != 3) {
        return 2;
    }
    const int calls = atoi(argv[1]), blocks = atoi(argv[2]);
    double* each = malloc((size_t)blocks * sizeof *each);
    MPI_Init(&argc, &argv);
    for (int block = 0; block < blocks; ++block) {
        const double begin = now_ns();
        for (int i = 0; i < calls; ++i) {
            int given = i, got = 0;
            MPI_Allreduce(&given, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
        each[block] = (now_ns() - begin) / calls;
    }
    qsort(each, (size_t)blocks, sizeof *each, by_value);
    printf("%.2f\n", each[blocks / 2]);
    MPI_Finalize();
    free(each);
    return 0;
}
