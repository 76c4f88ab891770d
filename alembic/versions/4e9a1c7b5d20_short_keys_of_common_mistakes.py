"""short keys of common mistakes

The key of a common mistake was a digest of what was said of it in English. Those that stood in the
database when the keys got names are found by what was said then.
"""

from collections.abc import Callable, Iterator
from hashlib import blake2s
from itertools import product

import sqlalchemy as sa
from alembic import op

revision = "4e9a1c7b5d20"
down_revision = "b71e0c94d5a3"

_TIMES, _SHARE = "Your number is {} times the right one", "Your number is 1/{} of the right one"
_SAID = {
    "bits-as-bytes": f"{_TIMES.format(8)}: were bits counted as bytes? A byte is 8 bits.",
    "bytes-as-bits": f"{_SHARE.format(8)}: were bytes divided by 8 as if they were bits?",
    "both-directions": ("Your number is twice the right one: does the question ask for one direction, or both?"),
    "one-direction": ("Your number is half the right one: does the question ask for one direction, or both?"),
    "twice": "Your number is twice the right one: is something counted twice?",
    "half": "Your number is half the right one: is a factor of 2 missing?",
    "times-8": f"{_TIMES.format(8)}.",
    "over-8": f"{_SHARE.format(8)}.",
    "sign": "The magnitude is right, but the sign is wrong.",
    "percent-as-fraction": f"{_TIMES.format(100)}: was a percentage used as a fraction?",
    "fraction-as-percent": "You entered a fraction, but the answer is a percentage.",
}
for _n in (10**3, 10**6, 10**9):
    _times, _share = _TIMES.format(f"{_n:,}"), _SHARE.format(f"{_n:,}")
    _SAID |= {f"times-{_n}": f"{_times}.", f"over-{_n}": f"{_share}."}
    _SAID[f"prefix-times-{_n}"] = f"{_times}: check the unit prefixes."
    _SAID[f"prefix-over-{_n}"] = f"{_share}: check the unit prefixes."
for _point in ("10", "0.1", "100", "0.01"):
    _SAID[f"point-{_point}"] = f"{_TIMES.format(_point)}: check the decimal point."
_LABELED = (
    "The figure is right in {twin}: it was computed in {twin} and labeled {unit}. They differ by a factor of {factor}."
)
_MIXED_UP = (
    "Your number is off by a factor of {factor}: {unit} and {twin} were mixed up. The prefix of GB "
    "is a power of 1000, that of GiB a power of 1024."
)
_OF_TWINS = {"labeled": _LABELED, "mixed-up": _MIXED_UP}
_ANOTHER_UNIT = "Right in {named}, but a number without a unit is in {shown} here."
_NAMED = {"B": "bytes", "bit": "bits"}
_STEMS = ("B", "byte", "bytes", "Byte", "Bytes", "bit", "bits", "b")
_STEMS += tuple(f"{stem}/s" for stem in _STEMS) + ("Bps", "bps")
_SYMBOLS = """
$ $/GPU-h $/J $/h $/kWh $/s $E $G $K $M $P $T $billion $k $million $thousand $trillion % /s 1/s
B B/s Bps Byte Bytes E$ EB EB/s EBps EByte EBytes EFLOP EFLOP/B EFLOP/byte EFLOP/s EFLOPS EFLOPs
EFLOPs/byte EFLOPs/s EJ EUSD EW EWh Eb Eb/s Ebit Ebit/s Ebits Ebits/s Ebps Ebyte Ebyte/s Ebytes
Ebytes/s Eflop Eflop/s Eflops FLOP FLOP/B FLOP/byte FLOP/s FLOPS FLOPs FLOPs/byte FLOPs/s G$ GB
GB/s GBps GByte GBytes GFLOP GFLOP/B GFLOP/byte GFLOP/s GFLOPS GFLOPs GFLOPs/byte GFLOPs/s GJ
GPU GPU-h GPU-hour GPU-hours GPUs GUSD GW GWh Gb Gb/s Gbit Gbit/s Gbits Gbits/s Gbps Gbyte
Gbyte/s Gbytes Gbytes/s Gflop Gflop/s Gflops GiB GiB/s GiBps GiByte GiBytes Gib Gib/s Gibit
Gibit/s Gibits Gibits/s Gibps Gibyte Gibyte/s Gibytes Gibytes/s Hz J K$ KB KB/s KBps KByte
KBytes KFLOP KFLOP/B KFLOP/byte KFLOP/s KFLOPS KFLOPs KFLOPs/byte KFLOPs/s KJ KUSD KW KWh Kb
Kb/s Kbit Kbit/s Kbits Kbits/s Kbps Kbyte Kbyte/s Kbytes Kbytes/s Kflop Kflop/s Kflops KiB KiB/s
KiBps KiByte KiBytes Kib Kib/s Kibit Kibit/s Kibits Kibits/s Kibps Kibyte Kibyte/s Kibytes
Kibytes/s M$ MB MB/s MBps MByte MBytes MFLOP MFLOP/B MFLOP/byte MFLOP/s MFLOPS MFLOPs
MFLOPs/byte MFLOPs/s MJ MUSD MW MWh Mb Mb/s Mbit Mbit/s Mbits Mbits/s Mbps Mbyte Mbyte/s Mbytes
Mbytes/s Mflop Mflop/s Mflops MiB MiB/s MiBps MiByte MiBytes Mib Mib/s Mibit Mibit/s Mibits
Mibits/s Mibps Mibyte Mibyte/s Mibytes Mibytes/s P$ PB PB/s PBps PByte PBytes PF-day PF-days
PFLOP PFLOP/B PFLOP/byte PFLOP/s PFLOP/s-day PFLOP/s-days PFLOPS PFLOPS-days PFLOPs PFLOPs/byte
PFLOPs/s PJ PUSD PW PWh Pb Pb/s Pbit Pbit/s Pbits Pbits/s Pbps Pbyte Pbyte/s Pbytes Pbytes/s
Pflop Pflop/s Pflops PiB PiB/s PiBps PiByte PiBytes Pib Pib/s Pibit Pibit/s Pibits Pibits/s
Pibps Pibyte Pibyte/s Pibytes Pibytes/s T$ TB TB/s TBps TByte TBytes TFLOP TFLOP/B TFLOP/byte
TFLOP/s TFLOPS TFLOPs TFLOPs/byte TFLOPs/s TJ TUSD TW TWh Tb Tb/s Tbit Tbit/s Tbits Tbits/s Tbps
Tbyte Tbyte/s Tbytes Tbytes/s Tflop Tflop/s Tflops TiB TiB/s TiBps TiByte TiBytes Tib Tib/s
Tibit Tibit/s Tibits Tibits/s Tibps Tibyte Tibyte/s Tibytes Tibytes/s USD USD/J USD/h USD/kWh
USD/s W Wh b b/s billion billion$ billionUSD billiondollars bit bit/s bits bits/s bps bubbles
byte byte/s bytes bytes/s copies d day days dollar dollars elements exabit exabits exabyte
exabytes flop flop/s flops gibibit gibibits gibibyte gibibytes gigabit gigabits gigabyte
gigabytes h heads hour hours hr hrs k$ kB kB/s kBps kByte kBytes kFLOP kFLOP/B kFLOP/byte
kFLOP/s kFLOPS kFLOPs kFLOPs/byte kFLOPs/s kJ kUSD kW kWh kb kb/s kbit kbit/s kbits kbits/s kbps
kbyte kbyte/s kbytes kbytes/s kflop kflop/s kflops kibibit kibibits kibibyte kibibytes kilobit
kilobits kilobyte kilobytes layers mJ mW mebibit mebibits mebibyte mebibytes megabit megabits
megabyte megabytes microbatches microsecond microseconds million million$ millionUSD
milliondollars millisecond milliseconds min mins minute minutes ms msec msecs nJ nW nanosecond
nanoseconds node nodes ns nsec nsecs parameters params pebibit pebibits pebibyte pebibytes
percent petaFLOP-days petaFLOP/s-days petabit petabits petabyte petabytes petaflop-days
petaflop/s-days point points rank ranks s samples/s sec second seconds secs seq/s seqs/s
sequences sequences/s stages step steps steps/s tebibit tebibits tebibyte tebibytes terabit
terabits terabyte terabytes thousand thousand$ thousandUSD thousanddollars times tokens tokens/s
trillion trillion$ trillionUSD trilliondollars uJ uW us usec usecs x y year years yr yrs µJ µW
µs µsec µsecs × Ψ μJ μW μs μsec μsecs
"""


def upgrade() -> None:
    _rename(lambda: {digest: key for key, digest in _digests()})


def downgrade() -> None:
    _rename(lambda: dict(_digests()))


def _rename(names: Callable[[], dict[str, str]]) -> None:
    mistake = sa.column("mistake")
    attempt = sa.table("attempt", mistake)
    found = op.get_bind().execute(sa.select(mistake).where(mistake.is_not(None)).distinct())
    stored = found.scalars().all()
    known = names() if stored else {}  # a new database does not wait for a quarter of a million
    for name in stored:
        if name in known:
            op.execute(attempt.update().where(mistake == name).values(mistake=known[name]))


def _digests() -> Iterator[tuple[str, str]]:
    """Each key, and the digest that was in its place."""
    for key, said in (*_SAID.items(), *_of_twins(), *_of_units()):
        yield key, blake2s(said.encode(), digest_size=6).hexdigest()


def _of_twins() -> Iterator[tuple[str, str]]:
    for power, prefix in enumerate("kMGTP", 1):
        factor = f"{1.024**power:.4g}"
        binary = f"{prefix.upper()}i"
        pairs = [(prefix, binary), (binary, prefix), *([("K", "Ki")] if prefix == "k" else [])]
        for stem in _STEMS:
            for unit, twin in pairs:
                values = {"unit": unit + stem, "twin": twin + stem, "factor": factor}
                for key, form in _OF_TWINS.items():
                    yield f"{key}-{unit}{stem}", form.format(**values)


def _of_units() -> Iterator[tuple[str, str]]:
    units = _SYMBOLS.split()
    for other, shown in product((one for one in units if one not in _NAMED.values()), units):
        values = {"named": _NAMED.get(other, other), "shown": shown}
        yield f"{other}-for-{shown}", _ANOTHER_UNIT.format(**values)
