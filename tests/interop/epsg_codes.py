"""Prints the codes of EPSG in the database of PROJ, with the kinds of their systems, as JSON."""

import json
import sqlite3
import sys
from pathlib import Path

import rasterio

database = Path(rasterio.__file__).parent / "proj_data" / "proj.db"
with sqlite3.connect(database) as connection:
    rows = connection.execute(
        "select code, type from crs_view where auth_name = 'EPSG' and type is not null"
    ).fetchall()
kinds = {"geographic 2D": "geographic", "projected": "projected"}
codes = {code: kinds.get(kind) for code, kind in rows if int(code) < 32767}
Path(sys.argv[1]).write_text(json.dumps(codes))
