/* One collective of MPI, timed: arena COLLECTIVE BYTES prints how many seconds the slowest rank takes.
 *
 * BYTES is what a rank gives to each block: all data of a broadcast or allreduce, one node's block of an allgather or scatter,
 * one pair's block of an alltoall. Buffers are shared between the simulated ranks, since only the time matters.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void carry_out(const char *kind, void *give, void *get, int size)
{
    if (!strcmp(kind, "bcast"))
        MPI_Bcast(give, size, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (!strcmp(kind, "scatter"))
        MPI_Scatter(give, size, MPI_BYTE, get, size, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (!strcmp(kind, "allgather"))
        MPI_Allgather(give, size, MPI_BYTE, get, size, MPI_BYTE, MPI_COMM_WORLD);
    else if (!strcmp(kind, "alltoall"))
        MPI_Alltoall(give, size, MPI_BYTE, get, size, MPI_BYTE, MPI_COMM_WORLD);
    else if (!strcmp(kind, "allreduce"))
        MPI_Allreduce(give, get, size / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int count, char **words)
{
    int ranks, rank;
    double seconds, most;

    MPI_Init(&count, &words);
    if (count != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int size = atoi(words[2]);
    int whole = !strcmp(words[1], "bcast") || !strcmp(words[1], "allreduce");
    size_t room = (size_t)size * (whole ? 1 : ranks);
    void *give = SMPI_SHARED_MALLOC(room), *get = SMPI_SHARED_MALLOC(room);

    MPI_Barrier(MPI_COMM_WORLD);
    seconds = MPI_Wtime();
    carry_out(words[1], give, get, size);
    seconds = MPI_Wtime() - seconds;
    MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("seconds %.9f\n", most);
    SMPI_SHARED_FREE(give);
    SMPI_SHARED_FREE(get);
    MPI_Finalize();
    return 0;
}
