"""Writes the conformance set of tables: small files of pyarrow, polars and DuckDB, and what must be read from them.

    python -m venv venv && venv/bin/pip install pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.0
    venv/bin/python testdata/tables/write.py

Expected cells are worked out from the tables in memory, before they are written. `expected.json` has two parts:
`columns`, each a kind and its cells, and `files`, each a name with its columns, or the word that its error must have.
"""

import bisect
import decimal
import hashlib
import json
import pathlib
import shutil
from fractions import Fraction

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

FOLDER = pathlib.Path(__file__).parent / "conformance"
COLUMNS, FILES = {}, {}
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
DAY = 86400

# ---- What must be read


def refused(kind):
    """The name that the reader has for a type that it refuses, or None."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return refused(kind.value_type)
    if pa.types.is_fixed_size_binary(kind) and not pa.types.is_decimal(kind):
        return "fixed-size binary"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return "binary"
    if pa.types.is_struct(kind):
        return "struct"
    if pa.types.is_map(kind):
        return "map"
    if pa.types.is_interval(kind):
        return "interval"
    if pa.types.is_union(kind):
        return "union"
    if pa.types.is_nested(kind):
        return "list"
    return None


def cells(array):
    """The kind of a column and its cells: numbers, texts, None for a missing one."""
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    kind = array.type
    if refused(kind):
        return refused(kind), None
    if pa.types.is_dictionary(kind):
        return cells(array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        ends = array.run_ends.to_pylist()
        return cells(array.values.take(pa.array([bisect.bisect_right(ends, i) for i in range(len(array))])))
    if pa.types.is_null(kind):
        return "number", [None] * len(array)
    if pa.types.is_boolean(kind):
        return "text", [None if v is None else ("true" if v else "false") for v in array.to_pylist()]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text", [None if v in (None, "") else v for v in array.to_pylist()]
    if pa.types.is_date32(kind):
        return "date", scaled(array.cast(pa.int32()), 1)
    if pa.types.is_date64(kind):
        return "date", scaled(array.cast(pa.int64()), 1000 * DAY)
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "local_timestamp", scaled(array.cast(pa.int64()), UNITS[kind.unit])
    if pa.types.is_time32(kind):
        return "time_of_day", scaled(array.cast(pa.int32()), UNITS[kind.unit])
    if pa.types.is_time64(kind):
        return "time_of_day", scaled(array.cast(pa.int64()), UNITS[kind.unit])
    if pa.types.is_duration(kind):
        return "duration", scaled(array.cast(pa.int64()), UNITS[kind.unit])
    return "number", [None if v is None or v != v else float(v) for v in array.to_pylist()]


def scaled(array, per):
    """Whole numbers divided, rounded once."""
    return [None if v is None else float(Fraction(v, per)) for v in array.to_pylist()]


def as_json(value):
    """JSON knows no infinity."""
    return repr(value) if isinstance(value, float) and abs(value) == float("inf") else value


def note(name, table, given=None):
    """Notes what must be read from a file; `given` has the columns that a format changes, as (kind, cells)."""
    listed = []
    for column in table.column_names:
        kind, values = (given or {}).get(column) or cells(table.column(column))
        entry = {"kind": kind, "cells": values and [as_json(v) for v in values]}
        key = hashlib.sha256(json.dumps(entry).encode()).hexdigest()[:10]
        COLUMNS[key] = entry
        listed.append([column, key])
    FILES[name] = {"rows": table.num_rows, "columns": listed}


def note_error(name, word):
    """Notes that a file is refused as a whole, by an error with this word."""
    FILES[name] = {"error": word}


def path(name):
    assert name not in FILES, name
    return str(FOLDER / name)


# ---- Tables

N = 40
WORDS = ["red", "green", "blå", "", "a text that is longer than twelve bytes, and then some", "x,y", " "]


def with_gaps(values, step=7):
    return [None if i % step == 3 else v for i, v in enumerate(values)]


def counted(low, high):
    """Whole numbers from the one end to the other, both included."""
    return [low + (high - low) * i // (N - 1) for i in range(N)]


def moments(unit, spread):
    """Points in time before and after 1970, with all digits of the unit."""
    return [(i * i - 100) * spread * UNITS[unit] + i * (UNITS[unit] // 7) for i in range(N)]


def pyarrow_columns():
    """Every flat type that pyarrow has, with missing values."""
    columns = {"id": pa.array(range(N), pa.int64())}
    for bits in (8, 16, 32, 64):
        columns[f"i{bits}"] = pa.array(with_gaps(counted(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)), f"int{bits}")
        columns[f"u{bits}"] = pa.array(with_gaps(counted(0, 2**bits - 1)), f"uint{bits}")
    reals = [0.0, -0.0, 1.5, -2.25, 1e-5, 6e4, float("inf"), float("-inf")] + [i / 8 - 2 for i in range(N - 8)]
    columns["f16"] = pa.array(with_gaps(reals)).cast(pa.float16(), safe=False)
    columns["f32"] = pa.array(with_gaps([v / 3 for v in reals]), pa.float32())
    columns["f64"] = pa.array(with_gaps([v / 3 for v in reals])[:-1] + [float("nan")], pa.float64())
    columns["bool"] = pa.array(with_gaps([i % 3 == 0 for i in range(N)]))
    texts = with_gaps([WORDS[i % len(WORDS)] for i in range(N)])
    columns["text"] = pa.array(texts)
    columns["large_text"] = pa.array(texts, pa.large_string())
    columns["text_view"] = pa.array(texts, pa.string_view())
    columns["category"] = pa.array(texts).dictionary_encode()
    columns["large_category"] = pa.DictionaryArray.from_arrays(
        pa.array(with_gaps([i % 3 for i in range(N)]), pa.uint8()), pa.array(["u", None, "w"], pa.large_string())
    )
    columns["number_category"] = pa.array(with_gaps([i % 4 * 0.1 for i in range(N)])).dictionary_encode()
    columns["date32"] = pa.array(with_gaps(counted(-30000, 60000)), pa.int32()).cast(pa.date32())
    days = [d * DAY * 1000 for d in counted(-30000, 60000)]
    columns["date64"] = pa.array(with_gaps(days), pa.int64()).cast(pa.date64())
    for unit in UNITS:
        columns[f"ts_{unit}"] = pa.array(with_gaps(moments(unit, 100003)), pa.timestamp(unit))
        columns[f"utc_{unit}"] = pa.array(with_gaps(moments(unit, 3607)), pa.timestamp(unit, "UTC"))
        columns[f"zone_{unit}"] = pa.array(with_gaps(moments(unit, 59)), pa.timestamp(unit, "Europe/Helsinki"))
        columns[f"lasts_{unit}"] = pa.array(with_gaps(moments(unit, 17)), pa.duration(unit))
        wall = with_gaps([v % (DAY * UNITS[unit]) for v in moments(unit, 1009)])
        columns[f"at_{unit}"] = pa.array(wall, (pa.time32 if unit in ("s", "ms") else pa.time64)(unit))
    for digits, kind in ((7, pa.decimal32), (16, pa.decimal64), (30, pa.decimal128), (60, pa.decimal256)):
        with decimal.localcontext() as exact:
            exact.prec = 80
            values = [decimal.Decimal(v).scaleb(-3) for v in counted(-(10**digits) + 1, 10**digits - 1)]
        columns[f"d{digits}"] = pa.array(with_gaps(values), kind(digits, 3))
    columns["whole_decimal"] = pa.array(with_gaps([decimal.Decimal(i) for i in range(N)]), pa.decimal128(5, 0))
    columns["nothing"] = pa.nulls(N)
    columns["no_values"] = pa.nulls(N, pa.float64())
    return columns


FLAT = pyarrow_columns()


def flat(*names):
    """Some of the flat columns."""
    return pa.table({name: FLAT[name] for name in names})


PLAIN = flat("id", "i32", "u16", "f64", "bool", "text", "category", "ts_us", "d16")
# pyarrow does not write these as Parquet.
NO_PARQUET = ["large_category"]

NESTED = {
    "list": pa.array(with_gaps([[i, None] * (i % 3) for i in range(N)])),
    "fixed_list": pa.array([[i, i + 1] for i in range(N)], pa.list_(pa.int32(), 2)),
    "struct": pa.array(with_gaps([{"a": i, "b": {"c": str(i)}} for i in range(N)])),
    "map": pa.array([[("k", i)] * (i % 2) for i in range(N)], pa.map_(pa.string(), pa.int64())),
    "words": pa.array([[{"w": WORDS[i % 5]}] * (i % 3) for i in range(N)]),
}
BINARY = {
    "bytes": pa.array(with_gaps([bytes([i, 255]) for i in range(N)])),
    "uuid": pa.array([bytes(range(i, i + 16)) for i in range(N)], pa.binary(16)),
}
BESIDE = pa.table({"before": FLAT["i32"], **NESTED, "between": FLAT["text"], **BINARY, "after": FLAT["f64"]})


# ---- pyarrow

def pyarrow_parquet(name, table, given=None, **options):
    pq.write_table(table, path(name), **options)
    note(name, table, given)


def write_pyarrow_parquet():
    for column, array in FLAT.items():
        if column in NO_PARQUET:
            continue
        table = pa.table({"id": FLAT["id"], column: array}) if column != "id" else pa.table({"id": array})
        pyarrow_parquet(f"pyarrow_{column}.parquet", table)
    for codec in ("none", "snappy", "gzip", "brotli", "zstd", "lz4"):
        for version in ("1.0", "2.0"):
            name = f"pyarrow_{codec}_pages_v{version[0]}.parquet"
            pyarrow_parquet(name, PLAIN, compression=codec, data_page_version=version)
    for version in ("1.0", "2.0"):
        tag = f"pages_v{version[0]}"
        own = {"use_dictionary": False, "data_page_version": version}
        text = flat("text", "large_text").append_column("sorted", [[f"row {i:05}" for i in range(N)]])
        numbers = flat("id", "i8", "i32", "i64", "u16", "u64", "date32", "ts_us", "at_ms")
        reals = flat("f16", "f32", "f64", "i32", "i64", "d30")
        pyarrow_parquet(f"pyarrow_plain_{tag}.parquet", PLAIN, **own)
        for encoding in ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"):
            pyarrow_parquet(f"pyarrow_{encoding.lower()}_{tag}.parquet", text, column_encoding=encoding, **own)
        for table, encoding in ((numbers, "DELTA_BINARY_PACKED"), (reals, "BYTE_STREAM_SPLIT"), (flat("bool"), "RLE")):
            encodings = {name: encoding for name in table.column_names}
            pyarrow_parquet(f"pyarrow_{encoding.lower()}_{tag}.parquet", table, column_encoding=encodings, **own)
    decimals = flat("d7", "d16", "d30", "whole_decimal")
    own = {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}
    pyarrow_parquet("pyarrow_decimals_delta.parquet", decimals, **own)
    pyarrow_parquet("pyarrow_decimals_as_integers.parquet", decimals, store_decimal_as_integer=True)
    pyarrow_parquet("pyarrow_row_groups.parquet", PLAIN, row_group_size=7, data_page_size=64, write_batch_size=3)
    pyarrow_parquet("pyarrow_page_index.parquet", PLAIN, write_page_index=True, write_page_checksum=True)
    own = {"dictionary_pagesize_limit": 16, "data_page_size": 64, "write_batch_size": 4}
    pyarrow_parquet("pyarrow_dictionary_too_large.parquet", PLAIN, **own)
    pyarrow_parquet("pyarrow_without_statistics.parquet", PLAIN, write_statistics=False)
    pyarrow_parquet("pyarrow_without_schema.parquet", PLAIN, store_schema=False)
    pyarrow_parquet("pyarrow_sorted.parquet", PLAIN, sorting_columns=[pq.SortingColumn(0)])
    pyarrow_parquet("pyarrow_spark.parquet", PLAIN, flavor="spark")
    times = flat("ts_s", "ts_ms", "ts_us", "date32")
    pyarrow_parquet("pyarrow_int96.parquet", times, use_deprecated_int96_timestamps=True)
    # Microseconds are cut to milliseconds, towards 1970.
    exact = times["ts_us"].cast(pa.int64()).to_pylist()
    cut = [None if v is None else float(Fraction(int(Fraction(v, 1000)), 1000)) for v in exact]
    for unit, given in (("ms", {"ts_us": ("local_timestamp", cut)}), ("us", None)):
        own = {"coerce_timestamps": unit, "allow_truncated_timestamps": True}
        pyarrow_parquet(f"pyarrow_coerced_{unit}.parquet", times, given, **own)
    for version in ("1.0", "2.4", "2.6"):
        wide = PLAIN.append_column("u32", FLAT["u32"])
        pyarrow_parquet(f"pyarrow_format_{version}.parquet", wide, version=version)
    pyarrow_parquet("pyarrow_empty.parquet", PLAIN.slice(0, 0))
    pyarrow_parquet("pyarrow_one_row.parquet", PLAIN.slice(5, 1))
    required = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("w", pa.string(), nullable=False)])
    words = [f"w{i % 3}" for i in range(N)]
    pyarrow_parquet("pyarrow_required.parquet", pa.table({"id": FLAT["id"], "w": words}, required))
    pyarrow_parquet("pyarrow_nested.parquet", BESIDE)
    pyarrow_parquet("pyarrow_nested_v2.parquet", BESIDE, data_page_version="2.0", compression="zstd", row_group_size=11)


def pyarrow_ipc(name, table, stream=False, rows=None, given=None, **options):
    options = ipc.IpcWriteOptions(**options)
    new = ipc.new_stream if stream else ipc.new_file
    with new(path(name), table.schema, options=options) as out:
        out.write_table(table, max_chunksize=rows)
    note(name, table, given)


def write_pyarrow_ipc():
    encoded = pa.RunEndEncodedArray.from_arrays
    runs = encoded(pa.array([3, 10, 11, N], pa.int32()), pa.array([1.5, None, -2.0, 7.25]))
    texts = encoded(pa.array([1, 20, N], pa.int16()), pa.array(["a", None, "b"]))
    days = encoded(pa.array([20, N], pa.int64()), pa.array([1, -400], pa.int32()).cast(pa.date32()))
    words = encoded(pa.array([5, 6, N], pa.int32()), pa.array(["x", None, "y"]).dictionary_encode())
    more = {"runs": runs, "run_texts": texts, "run_days": days, "run_categories": words}
    for column, array in {**FLAT, **more}.items():
        pyarrow_ipc(f"pyarrow_{column}.arrow", pa.table({column: array}))
    all_flat = pa.table({**FLAT, **more})
    for codec in (None, "lz4", "zstd"):
        pyarrow_ipc(f"pyarrow_{codec or 'plain'}_file.arrow", PLAIN, compression=codec)
        pyarrow_ipc(f"pyarrow_{codec or 'plain'}_stream.arrows", PLAIN, stream=True, rows=9, compression=codec)
        feather.write_feather(PLAIN, path(f"pyarrow_{codec or 'plain'}.feather"), compression=codec or "uncompressed")
        note(f"pyarrow_{codec or 'plain'}.feather", PLAIN)
    pyarrow_ipc("pyarrow_all.arrow", all_flat, rows=13, compression="zstd")
    pyarrow_ipc("pyarrow_all.arrows", all_flat, stream=True, compression="lz4")
    for stream in (False, True):
        end = "arrows" if stream else "arrow"
        old = {"metadata_version": ipc.MetadataVersion.V4}
        pyarrow_ipc(f"pyarrow_v4.{end}", PLAIN, stream=stream, **old)
        pyarrow_ipc(f"pyarrow_legacy.{end}", PLAIN, stream=stream, use_legacy_format=True, **old)
        pyarrow_ipc(f"pyarrow_nested.{end}", BESIDE, stream=stream, rows=11)
        pyarrow_ipc(f"pyarrow_empty.{end}", PLAIN.slice(0, 0), stream=stream)
        pyarrow_ipc(f"pyarrow_sliced.{end}", PLAIN.slice(5, 17), stream=stream, rows=6)
    # A dictionary that grows, as a delta, and one that is replaced.
    first, second = pa.array(["a", "b", "a"]).dictionary_encode(), pa.array(["c", "a", None]).dictionary_encode()
    grown = pa.DictionaryArray.from_arrays(pa.array([2, 0, None], pa.int32()), pa.array(["a", "b", "c"]))
    for name, later, deltas in (("delta", grown, True), ("replaced", second, False)):
        table = pa.table({"word": pa.chunked_array([first, later])})
        pyarrow_ipc(f"pyarrow_dictionary_{name}.arrows", table, stream=True, emit_dictionary_deltas=deltas)
    table = pa.table({"word": pa.chunked_array([first, grown])})
    pyarrow_ipc("pyarrow_dictionary_delta.arrow", table, emit_dictionary_deltas=True)
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
    pyarrow_ipc("pyarrow_union.arrow", pa.table({"u": union, "y": [1.0, 2.0]}))
    months = pa.table({"m": pa.array([pa.MonthDayNano([1, 2, 3]), None]), "y": [1.0, 2.0]})
    pyarrow_ipc("pyarrow_interval.arrow", months)
    feather_v1 = pa.table({"y": FLAT["f64"], "text": FLAT["text"]})
    feather.write_feather(feather_v1, path("pyarrow_version_1.feather"), version=1)
    note_error("pyarrow_version_1.feather", "version 1")


# ---- polars

def polars_frame():
    columns = {name: pl.from_arrow(FLAT[name]) for name in (
        "id", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bool", "text", "category",
        "date32", "ts_ms", "ts_us", "ts_ns", "zone_us", "lasts_ms", "lasts_us", "lasts_ns", "at_ns", "d30", "nothing")}
    return pl.DataFrame(columns).with_columns(pl.col("text").cast(pl.Enum(WORDS)).alias("enum"))


def write_polars():
    frame = polars_frame()
    simple = frame.select("id", "i32", "u16", "f64", "bool", "text", "category", "ts_us", "d30")
    nested = pl.DataFrame({"before": frame["i32"], "list": [[i] * (i % 3) for i in range(N)],
                           "struct": [{"a": i, "b": "x"} for i in range(N)], "after": frame["text"],
                           "bytes": [bytes([i]) for i in range(N)]})
    nested = nested.with_columns(pl.concat_list("before", "before").list.to_array(2).alias("array"))
    for column in frame.columns:
        one = frame.select("id", column) if column != "id" else frame.select("id")
        for end, write in (("parquet", pl.DataFrame.write_parquet), ("arrow", pl.DataFrame.write_ipc)):
            write(one, path(f"polars_{column}.{end}"))
            note(f"polars_{column}.{end}", one.to_arrow())
    # A type that polars alone has, and that neither format knows.
    wide = frame.select(pl.col("i32").cast(pl.Int128).alias("i128"))
    for end, write in (("parquet", wide.write_parquet), ("arrow", wide.write_ipc)):
        write(path(f"polars_i128.{end}"))
        note_error(f"polars_i128.{end}", "width of 128")
    for codec in ("uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4"):
        name = f"polars_{codec}.parquet"
        simple.write_parquet(path(name), compression=codec)
        note(name, simple.to_arrow())
    for name, options in (("row_groups", {"row_group_size": 7}), ("pages", {"data_page_size": 64}),
                          ("statistics", {"statistics": "full"}), ("pyarrow", {"use_pyarrow": True})):
        simple.write_parquet(path(f"polars_{name}.parquet"), **options)
        note(f"polars_{name}.parquet", simple.to_arrow())
    simple.lazy().sink_parquet(path("polars_sink.parquet"))
    note("polars_sink.parquet", simple.to_arrow())
    simple.lazy().sink_ipc(path("polars_sink.arrow"))
    note("polars_sink.arrow", simple.to_arrow())
    for codec in ("uncompressed", "lz4", "zstd"):
        simple.write_ipc(path(f"polars_{codec}.arrow"), compression=codec)
        note(f"polars_{codec}.arrow", simple.to_arrow())
        simple.write_ipc_stream(path(f"polars_{codec}.arrows"), compression=codec)
        note(f"polars_{codec}.arrows", simple.to_arrow())
    for name, level in (("oldest", pl.CompatLevel.oldest()), ("newest", pl.CompatLevel.newest())):
        simple.write_ipc(path(f"polars_{name}.arrow"), compat_level=level)
        note(f"polars_{name}.arrow", simple.to_arrow())
    writers = {"parquet": nested.write_parquet, "arrow": nested.write_ipc, "arrows": nested.write_ipc_stream}
    for end, write in writers.items():
        write(path(f"polars_nested.{end}"))
        note(f"polars_nested.{end}", nested.to_arrow())
    empty = simple.clear()
    empty.write_parquet(path("polars_empty.parquet"))
    note("polars_empty.parquet", empty.to_arrow())


# ---- DuckDB

DUCKDB_TYPES = {
    "bool": "i % 3 = 0",
    "i8": "(i - 20)::TINYINT",
    "i16": "(i * 1000 - 20000)::SMALLINT",
    "i32": "(i * 100000 - 9)::INTEGER",
    "i64": "i::BIGINT * 230584300921369395 - 7",
    "i128": "(i::HUGEINT - 3) * 100000000000000000000",
    "u8": "(i * 6)::UTINYINT",
    "u16": "(i * 1600)::USMALLINT",
    "u32": "(i * 110000000)::UINTEGER",
    "u64": "i::UBIGINT * 472900000000000000",
    "f32": "(i / 3)::FLOAT",
    "f64": "i / 7 - 2",
    "d4": "(i / 8)::DECIMAL(4,1)",
    "d9": "(i * 1234.567)::DECIMAL(9,3)",
    "d18": "(i * 1234567.891)::DECIMAL(18,6)",
    "d38": "(i * 98765432.1)::DECIMAL(38,10)",
    "text": "['red', 'blå', '', 'a text that is longer than twelve bytes'][i % 4 + 1]",
    "enum": "['small', 'large'][i % 2 + 1]::ENUM('small', 'large')",
    "date": "DATE '1969-12-01' + i::INTEGER * 31",
    "time": "TIME '00:00:00' + to_microseconds(i * 2100000007)",
    "ts": "TIMESTAMP '1969-12-31 23:59:00.5' + to_seconds(i * 33)",
    "ts_s": "(TIMESTAMP '1960-01-01' + to_hours(i * 999))::TIMESTAMP_S",
    "ts_ms": "(TIMESTAMP '2001-01-01' + to_milliseconds(i * 99))::TIMESTAMP_MS",
    "ts_ns": "make_timestamp_ns(i * 1234567890123456)",
    "ts_tz": "TIMESTAMPTZ '2020-02-29 12:00:00+02' + to_hours(i)",
    "interval": "to_days(i)",
    "uuid": "lpad(i::VARCHAR, 32, '0')::UUID",
    "blob": "'\\xAA'::BLOB",
    "list": "[i, NULL]",
    "struct": "{'a': i, 'b': 'x'}",
    "map": "MAP {'k': i}",
    "json": "('{\"a\": ' || i || '}')::JSON",
    "nothing": "NULL",
}
# Parquet has other types for these than DuckDB has in memory.
DUCKDB_REFUSED = {
    "interval": "interval",
    "uuid": "fixed-size binary",
    "blob": "binary",
    "list": "list",
    "struct": "struct",
    "map": "map",
}


def duckdb_table(con, columns):
    """A query of one column a type with gaps, and its result in memory."""
    parts = [f"CASE WHEN i % 7 = 3 THEN NULL ELSE {DUCKDB_TYPES[c]} END AS \"{c}\"" for c in columns]
    query = f"SELECT i AS id, {', '.join(parts)} FROM range({N}) t(i)"
    plain = [c for c in columns if c not in DUCKDB_REFUSED]
    table = con.sql(f"SELECT {', '.join(['id', *plain])} FROM ({query})").to_arrow_table()
    given = {c: (DUCKDB_REFUSED[c], None) for c in columns if c in DUCKDB_REFUSED}
    for i, column in enumerate(columns):
        if column in given:
            table = table.add_column(i + 1, column, pa.nulls(N))
    return query, table, given


def write_duckdb():
    con = duckdb.connect(config={"threads": 1})
    con.sql("SET TimeZone = 'America/New_York'")

    def write(name, columns, options=""):
        query, table, given = duckdb_table(con, columns)
        con.sql(f"COPY ({query}) TO '{path(name)}' (FORMAT parquet{options})")
        note(name, table, given)

    for column in DUCKDB_TYPES:
        write(f"duckdb_{column}.parquet", [column])
    simple = ["bool", "i32", "f64", "d9", "text", "enum", "ts"]
    for codec in ("uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4", "lz4_raw"):
        write(f"duckdb_codec_{codec}.parquet", simple, f", CODEC '{codec}'")
        write(f"duckdb_codec_{codec}_v2.parquet", simple, f", CODEC '{codec}', PARQUET_VERSION v2")
    every = list(DUCKDB_TYPES)
    write("duckdb_all.parquet", every)
    write("duckdb_all_v2.parquet", every, ", PARQUET_VERSION v2")
    write("duckdb_without_dictionaries.parquet", simple, ", DICTIONARY_SIZE_LIMIT 0")
    write("duckdb_without_dictionaries_v2.parquet", simple, ", DICTIONARY_SIZE_LIMIT 0, PARQUET_VERSION v2")
    write("duckdb_row_groups.parquet", simple, ", ROW_GROUP_SIZE 7")
    # The cipher without an outside library is enough for a file that is only to be refused.
    con.sql("SET force_mbedtls_unsafe = 'true'")
    con.sql("PRAGMA add_parquet_key('key', '0123456789112345')")
    name = "duckdb_encrypted.parquet"
    con.sql(f"COPY (SELECT 1 AS x) TO '{path(name)}' (FORMAT parquet, ENCRYPTION_CONFIG {{footer_key: 'key'}})")
    note_error(name, "encrypted")


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    write_pyarrow_parquet()
    write_pyarrow_ipc()
    write_polars()
    write_duckdb()
    expected = {"columns": dict(sorted(COLUMNS.items())), "files": dict(sorted(FILES.items()))}
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in expected["columns"].items())
    files = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in expected["files"].items())
    (FOLDER / "expected.json").write_text(f'{{"columns": {{\n{lines}\n}},\n"files": {{\n{files}\n}}}}\n')
    print(f"{len(FILES)} files, {sum(f.stat().st_size for f in FOLDER.iterdir())} bytes")
