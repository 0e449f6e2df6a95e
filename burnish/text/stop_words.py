"""The small words that carry no content of their own, in folded form (see `burnish.text.normalise`).

The lists are short on purpose: "not", "no" and their Arabic kin are content, since an answer that drops them says the
opposite. The English list ends with what contractions leave behind once the apostrophe has parted them.
"""

from __future__ import annotations

_ENGLISH = """
    a an the this that these those it its he she they them his her hers their theirs him we us our you your i me my
    and or but if so as than then also too of in on at by for to from with into about over under between through during
    is are was were be been being am has have had having do does did doing will would can could may might shall should
    must there here which who whom whose what when where why how such both each some any all more most other very just
    s t d m re ve ll
"""

_ARABIC = """
    في من الي علي عن مع هو هي هم هن هما انا نحن انت انتم هذا هذه هذان هاتان هؤلاء ذلك تلك اولئك الذي التي الذين اللذان
    اللاتي ان انه انها انهم اذا اذ او ام ثم قد لقد كان كانت كانوا يكون تكون كما كل بعض بين عند حتي منذ خلال حول ايضا
    لكن و ف ب ك ل له لها لهم به بها بهم فيه فيها منه منها عنه عنها عليه عليها اليه اليها اي ايه ما ماذا متي اين
    كيف كم هل
"""

ENGLISH = frozenset(_ENGLISH.split())
ARABIC = frozenset(_ARABIC.split())
