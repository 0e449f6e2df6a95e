"""Words that may stand for each other in a question, in English and in Arabic.

Words between two bars are a group, of one language alone: a word is only ever replaced by words of its own language.
Only single words are looked up, folded as everything that burnish compares, and Arabic ones also without the letters
that are joined on in front, which the replacement is given again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from burnish.text.language import detect_language
from burnish.text.normalise import fold

_ENGLISH = """
phone, telephone, mobile | email, e-mail, mail | address, location | contact, reach
salary, pay, wage, compensation | bonus, incentive | leave, vacation, time off | holiday, vacation
employee, staff member, worker | employer, company | manager, supervisor | department, division, unit
policy, rule, guideline | procedure, process | requirement, condition | law, regulation, statute
contract, agreement | clause, provision | fee, charge | cost, price, expense | payment, settlement
refund, reimbursement | return, refund | invoice, bill | discount, reduction | tax, levy | budget, funds
buy, purchase | sell, market | order, purchase | delivery, shipping | customer, client | supplier, vendor
warranty, guarantee | repair, fix | replace, exchange | cancel, terminate | delete, remove, erase
error, fault, failure | problem, issue | cause, reason | effect, consequence, result | benefit, advantage
drawback, disadvantage | difference, distinction | risk, danger, hazard | safety, security
start, begin | end, finish | create, make | build, construct | change, modify | increase, raise | reduce, lower
show, display | find, locate | use, apply | help, assistance | install, set up | configure, set up
download, fetch | password, passcode | account, profile | website, site | app, application | computer, machine
car, vehicle | doctor, physician | illness, disease | medicine, drug, medication | hospital, clinic
school, institution | teacher, instructor | student, pupil | exam, test | degree, qualification
city, town | country, nation | river, stream | house, home | child, kid | old, aged | big, large | small, little
fast, quick, rapid | important, significant | required, mandatory, compulsory | allowed, permitted
length, duration | deadline, due date | date, day | meeting, appointment | report, document | goal, objective, aim
"""
_ARABIC = """
هاتف، تلفون، جوال | بريد، إيميل | عنوان، موقع | اتصال، تواصل
راتب، أجر، معاش | مكافأة، حافز | إجازة، عطلة | موظف، عامل | شركة، مؤسسة، منشأة | مدير، مسؤول، رئيس | قسم، إدارة
سياسة، نظام | إجراء، خطوة | شرط، متطلب | قانون، نظام، تشريع | عقد، اتفاقية | بند، مادة | رسوم، تكلفة
سعر، ثمن، تكلفة | دفع، سداد | استرداد، استرجاع | إرجاع، استرجاع | فاتورة، إيصال | خصم، تخفيض | ضريبة، رسم
شراء، اقتناء | بيع، تسويق | طلب، طلبية | توصيل، شحن | عميل، زبون | مورد، مزود | ضمان، كفالة | إصلاح، صيانة
استبدال، تبديل | إلغاء، إبطال | حذف، إزالة | خطأ، عطل | مشكلة، عائق | سبب، علة، داع | نتيجة، أثر
فائدة، منفعة، ميزة | عيب، نقص | فرق، اختلاف | خطر، مخاطرة | أمان، سلامة | بدء، بداية | نهاية، ختام
إنشاء، تكوين | بناء، تشييد | تغيير، تعديل | زيادة، رفع | خفض، تقليل | عرض، إظهار | استخدام، استعمال | مساعدة، عون
تثبيت، تنصيب | ضبط، إعداد | كلمة، لفظ | حساب، ملف | تطبيق، برنامج | حاسوب، كمبيوتر | سيارة، مركبة | طبيب، دكتور
مرض، داء | دواء، علاج، عقار | مستشفى، مشفى | مدرسة، معهد | معلم، مدرس | طالب، تلميذ | امتحان، اختبار
شهادة، مؤهل | مدينة، بلدة | دولة، بلد | نهر، مجرى | بيت، منزل، دار | طفل، ولد | قديم، عتيق | كبير، ضخم
صغير، ضئيل | سريع، عاجل | مهم، هام | مطلوب، لازم | مسموح، جائز | مدة، فترة | موعد، تاريخ | اجتماع، لقاء
تقرير، وثيقة | هدف، غاية، غرض
"""
# A vowelled Arabic word is one word.
_WORD: Final = re.compile(r"(?:[^\W\d_]|[\u064b-\u0655\u0670\u0640])+(?:-[^\W\d_]+)*")
# What Arabic joins on in front: and, so; by, as, for; the.
_PREFIX: Final = re.compile("[وف]?(?:[بكل]?(?:ال)?|لل)")
_LONGEST_PREFIX = 4


def _groups(table: str, comma: str) -> Iterator[tuple[str, ...]]:
    for group in table.replace("\n", "|").split("|"):
        words = tuple(word.strip() for word in group.split(comma) if word.strip())
        if words:
            yield words


def _by_word(table: str, comma: str) -> Mapping[str, tuple[str, ...]]:
    """Each single word with all that may stand for it, in the order of the groups."""
    found: dict[str, dict[str, None]] = {}
    for group in _groups(table, comma):
        for word in group:
            others = {other: None for other in group if other != word}
            if " " not in word:
                found.setdefault(fold(word), {}).update(others)
    return {word: tuple(others) for word, others in found.items()}


SYNONYMS: Final = {"en": _by_word(_ENGLISH, ","), "ar": _by_word(_ARABIC, "،")}


def replacements(query: str) -> list[str]:
    """The question with one word replaced, once for each synonym: first each word's first, then each word's second."""
    spots = [(match, others) for match in _WORD.finditer(query) if (others := _others(match[0]))]
    longest = max((len(others) for _, others in spots), default=0)
    return [
        query[: match.start()] + others[nth] + query[match.end() :]
        for nth in range(longest)
        for match, others in spots
        if nth < len(others)
    ]


def _others(word: str) -> list[str]:
    folded = fold(word)
    if detect_language(word) != "ar":
        found = SYNONYMS["en"].get(folded, ())
        return [other.capitalize() if word[0].isupper() else other for other in found]
    for length in range(_LONGEST_PREFIX + 1):
        prefix, stem = folded[:length], folded[length:]
        if stem in SYNONYMS["ar"] and _PREFIX.fullmatch(prefix):
            return [prefix + other for other in SYNONYMS["ar"][stem]]
    return []
