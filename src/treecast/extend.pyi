"""The decorators by which others add parts: the names of ``treecast.extend``, and where they stand."""

from treecast.collectives.kinds import collective as collective
from treecast.drawing.registry import View as View
from treecast.drawing.registry import picture as picture
from treecast.files.formats.judging import judge_listed as judge_listed
from treecast.files.formats.operations import Reading as Reading
from treecast.files.formats.registry import Exporter as Exporter
from treecast.files.formats.registry import Importer as Importer
from treecast.files.formats.registry import Setting as Setting
from treecast.files.formats.registry import Told as Told
from treecast.files.formats.registry import begins_with as begins_with
from treecast.files.formats.registry import exporter as exporter
from treecast.files.formats.registry import importer as importer
from treecast.files.formats.registry import judged as judged
from treecast.files.programs.judge import Judged as Judged
from treecast.files.programs.order import find_order as find_order
from treecast.files.programs.order import find_pairs as find_pairs
from treecast.files.programs.order import judge_order as judge_order
from treecast.files.programs.order import judge_pairs as judge_pairs
from treecast.files.programs.program import RECEIVE as RECEIVE
from treecast.files.programs.program import SEND as SEND
from treecast.files.programs.program import Counts as Counts
from treecast.files.programs.program import Program as Program
from treecast.files.programs.races import Use as Use
from treecast.files.programs.races import Uses as Uses
from treecast.files.programs.verdict import FileVerdict as FileVerdict
from treecast.files.programs.verdict import Findings as Findings
from treecast.models import machine as machine
from treecast.networks.family import Family as Family
from treecast.networks.family import family as family
from treecast.plans.built import Built as Built
from treecast.plans.built import Job as Job
from treecast.plans.registry import ALL_PORT as ALL_PORT
from treecast.plans.registry import Builder as Builder
from treecast.plans.registry import Option as Option
from treecast.plans.registry import builder as builder
from treecast.schedule import Claims as Claims
from treecast.schedule import Payloads as Payloads
from treecast.schedule import Rows as Rows
from treecast.verification.file_rules import rule as rule

__all__: list[str]
