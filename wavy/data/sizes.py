"""How large each graph is, known without loading it. Not in ``wavy.data.graphs``, whose import takes seconds."""

from __future__ import annotations

#: Name -> nodes N and edges E of edge_index, both directions counted.
SIZES = {
    "cora": (2_708, 10_556),
    "citeseer": (3_327, 9_104),
    "pubmed": (19_717, 88_648),
    "digits": (1_797, 24_678),
    "actor": (7_600, 53_318),
    "chameleon": (2_277, 62_742),
    "squirrel": (5_201, 396_706),
    "texas": (183, 558),
    "cornell": (183, 554),
    "wisconsin": (251, 900),
    "chameleon_filtered": (890, 17_708),
    "squirrel_filtered": (2_223, 93_996),
    "tolokers": (11_758, 1_038_000),
    "minesweeper": (10_000, 78_804),
    "photo": (7_650, 238_162),
    "computers": (13_752, 491_722),
    "coauthor_cs": (18_333, 163_788),
    "coauthor_physics": (34_493, 495_924),
    "ogbn-arxiv": (169_343, 2_315_598),
    "ogbn-proteins": (132_534, 79_122_504),
}
