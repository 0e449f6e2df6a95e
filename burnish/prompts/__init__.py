"""What the language model is shown: functions of their inputs, in English and Arabic, the reply's schema beside each.

The rules that all of them follow, each measured on small models:

* Fixed text stands first, so that a server can keep it: `system` depends on nothing but the kind and the language.
* A quote from the evidence and the word on whether it supports the answer come before any score. Asked for scores
  alone, a small model gives wrong answers full marks.
* Two examples, one that goes well and one that does not.
* Every text and list in a schema has a greatest length, or a small model may run on until it is cut.
* Passages are data between markers, never instructions.
"""
