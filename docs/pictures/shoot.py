"""A picture of one part of a page that `gaancore report` wrote.

python docs/pictures/shoot.py PAGE.html PART PICTURE.png

PART is the name behind the # of a link at the top of the page, such as `one` or `gates`. Needs the
extra `test`, Chromium and chromedriver.
"""

import shutil
import sys
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service


def shoot(page: Path, part: str, picture: Path, width: int = 1000) -> None:
    """Write what a browser of this width shows of the part, in light colours."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--hide-scrollbars",
        f"--window-size={width},2400",
    ):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.get(page.resolve().as_uri())
        while not driver.execute_script("return document.documentElement.dataset.ready"):
            time.sleep(0.1)
        driver.find_element("id", part).screenshot(str(picture))
    finally:
        driver.quit()


if __name__ == "__main__":
    page, part, picture = sys.argv[1:]
    shoot(Path(page), part, Path(picture))
