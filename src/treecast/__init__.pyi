"""The public names: what to plan with, what judges, runs and draws a plan, and the results.

Type checkers read them here, and so does ``__init__.py``, which imports each when it is first used.
"""

from treecast.advice.asking import advise as advise
from treecast.advice.buying import Offers as Offers
from treecast.advice.buying import buy as buy
from treecast.advice.doctor import doctor as doctor
from treecast.advice.failing import cables as cables
from treecast.advice.placing import place as place
from treecast.api import bounds as bounds
from treecast.api import demand as demand
from treecast.api import diff as diff
from treecast.api import simulate as simulate
from treecast.api import sweep as sweep
from treecast.api import verify as verify
from treecast.collectives import Collective as Collective
from treecast.collectives import Demand as Demand
from treecast.drawing.look import Look as Look
from treecast.drawing.pictures import draw as draw
from treecast.errors import DeliveryError as DeliveryError
from treecast.errors import Evicted as Evicted
from treecast.errors import FaultError as FaultError
from treecast.errors import FormatError as FormatError
from treecast.errors import LabError as LabError
from treecast.errors import NetworkError as NetworkError
from treecast.errors import PlanError as PlanError
from treecast.errors import ProtocolError as ProtocolError
from treecast.errors import ScheduleError as ScheduleError
from treecast.errors import TreecastError as TreecastError
from treecast.errors import UnlikeCallsError as UnlikeCallsError
from treecast.files.formats import load as load
from treecast.files.formats import save as save
from treecast.files.others import deadlock as deadlock
from treecast.files.others import export as export
from treecast.files.others import judge as judge
from treecast.files.programs.meetings import Deadlock as Deadlock
from treecast.files.records.verdict import Verdict as Verdict
from treecast.files.records.why import Why as Why
from treecast.files.records.why import why as why
from treecast.lower_bounds import Bound as Bound
from treecast.models import Cost as Cost
from treecast.models import Model as Model
from treecast.networks import Network as Network
from treecast.networks import families as families
from treecast.networks import network as network
from treecast.networks.wired import Machine as Machine
from treecast.networks.wired import machine as machine
from treecast.papers.compare import compare as compare
from treecast.papers.paths import paths as paths
from treecast.papers.protocols import agrees as agrees
from treecast.papers.theorems import check_theorems as check_theorems
from treecast.plans import alternatives as alternatives
from treecast.plans import builders as builders
from treecast.plans import disjoint_trees as disjoint_trees
from treecast.plans import job as job
from treecast.plans import plan as plan
from treecast.plans import program as program
from treecast.plans import repair as repair
from treecast.plans.built import Job as Job
from treecast.running.calls.accumulator import Accumulator as Accumulator
from treecast.running.execution.election import Election as Election
from treecast.running.execution.local import Execution as Execution
from treecast.running.here import elect as elect
from treecast.running.here import run as run
from treecast.schedule import Claims as Claims
from treecast.schedule import Payloads as Payloads
from treecast.schedule import Recipe as Recipe
from treecast.schedule import Rows as Rows
from treecast.schedule import Schedule as Schedule
from treecast.schedule.trees import TreeSet as TreeSet
from treecast.simulation.faults import Faults as Faults
from treecast.simulation.faults import parse_faults as parse_faults
from treecast.simulation.faults import random_faults as random_faults
from treecast.simulation.lies import Lies as Lies
from treecast.simulation.losses import Reliability as Reliability
from treecast.simulation.replay import Trace as Trace
from treecast.simulation.survival import reliability as reliability
from treecast.simulation.sweeps import Sweep as Sweep
from treecast.tcp import connect as connect
from treecast.verification.report import Report as Report
from treecast.verification.report import Violation as Violation

from . import demands as demands
from . import extend as extend
from . import formats as formats
from . import mpi as mpi
from . import protocols as protocols
from . import tcp as tcp
from . import testing as testing
from . import torch as torch

__version__: str
__all__: list[str]
