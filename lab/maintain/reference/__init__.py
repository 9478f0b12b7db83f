"""The reference pages of ``docs/reference``, made from what they describe."""
