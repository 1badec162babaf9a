"""Which environment variables treecast reads, and which it sets for the programs that it starts."""

from treecast.description import Description, Table

VARIABLES = (
    ("NUMBA_CACHE_DIR", "you", "where compiled code is kept, if not beside the package or in the user's cache folder"),
    ("NUMBA_DISABLE_JIT", "you", "1: nothing is compiled, and large work takes long"),
    (
        "TREECAST_PLUGINS",
        "you, --plugin FILE",
        "files and modules that add networks, builders, formats, …, with the sign between them that PATH has",
    ),
    ("XDG_CACHE_HOME", "you", "the user's cache folder, if it is not ~/.cache"),
    (
        "XDG_RUNTIME_DIR",
        "you",
        "where the secret of a user's own jobs over sockets is kept, if not in the temporary folder",
    ),
    (
        "TREECAST_NETWORK",
        "you, the lab, launch --tcp --network",
        "the network between the ranks; over sockets its links are the only connections",
    ),
    ("TREECAST_RATE", "the lab", "the rate of a link, in bits per second; else plans over a network measure it"),
    ("TREECAST_LAB", "the lab", "a folder in memory that all hosts share; a file mark in it starts the clock of cuts"),
    ("TREECAST_JOB", "launch, the lab", "the file for the exit status of a rank that fails; beside it: how ranks end"),
    ("TREECAST_TAG", "launch --tag", "1: the number of its rank stands before each line that a rank prints"),
    ("TREECAST_LOGS", "launch --logs", "a folder with a file for the lines of each rank"),
    ("TREECAST_ON_ERROR", "you, on_error=…", "die: a rank that fails leaves the others alive; abort: it ends the job"),
    ("OMPI_MCA_mpi_ft_enable", "mpirun --with-ft ulfm", "1: MPI outlives dead ranks; survive asks for it"),
    ("OMPI_MCA_mpi_yield_when_idle", "launch", "1: there may be more ranks than cores"),
    ("OMPI_MCA_btl_sm_eager_limit", "launch", "bytes up to which a message that is too long harms nothing"),
    ("OMPI_MCA_opal_signal", "launch", "empty: a rank that crashes dies at once"),
    ("OMPI_ALLOW_RUN_AS_ROOT", "launch", "1, as OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: mpirun works for root"),
    ("OMPI_COMM_WORLD_RANK", "mpirun", "the rank of a process"),
    ("OMPI_COMM_WORLD_SIZE", "mpirun", "as PMIX_RANK or PMI_RANK: the program runs under MPI"),
    ("PMI_SIZE", "mpiexec, srun", "how many ranks there are"),
    ("TREECAST_RANK", "launch --tcp", "the rank of a process, of TREECAST_SIZE"),
    ("TREECAST_MEET", "launch --tcp, you", "host:port where ranks over sockets meet"),
    ("TREECAST_TIE", "launch --tcp", "the process with which the rank ends: with --tie the launcher"),
    ("TREECAST_JOIN", "launch --tcp --respawn", "1: the process was started anew, in the seat of a dead rank"),
    (
        "TREECAST_SECRET",
        "launch --tcp, you",
        "the secret that ranks over sockets prove to know; they take it out. Or TREECAST_SECRET_FILE, where it stands",
    ),
    (
        "RANK",
        "launch --tcp",
        "with WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT: the variables of torch.distributed",
    ),
    ("TREECAST_CMA", "you", "0: ranks over sockets on one host do not read each other's memory"),
    ("TREECAST_SURVIVE", "you", "how many ranks may fail in a call"),
    ("TREECAST_DEADLINE", "you", "seconds after which a silent rank is out, or none"),
    ("TREECAST_LATE", "you", "seconds after which a rank that does not come to a call is out, or none"),
    ("TREECAST_SURE", "you", "1: nobody returns from a small call before all have the data"),
    ("TREECAST_ON_FAILED", "you", "warn, raise or ignore: the end of a call that misses data of the dead"),
    ("TREECAST_SUMS", "you", "any, by-rank or exact: what the bits of a sum of floats depend on"),
    (
        "TREECAST_SLOW",
        "you",
        "seconds after which a rank asks those it waits for where they are; 5 is usual, none is never",
    ),
    (
        "TREECAST_LOG",
        "you",
        "info or debug: lines of events on standard error; else a folder for a file of JSON lines of each rank",
    ),
    ("TREECAST_DUMP", "you", "a folder for the last calls of each rank, which stay there when it is killed"),
    ("TREECAST_SITES", "you", "1: records and errors of unlike calls name the line of the program that makes a call"),
    ("NUMBA_NUM_THREADS", "launch", "1, as OMP_NUM_THREADS: a rank has one core"),
)
"""Their names, who sets them, and their meaning."""


def topic() -> Description:
    """Return every variable."""
    columns = ("variable", "set by", "says")
    return Table(columns, VARIABLES, of="variables").alone()
