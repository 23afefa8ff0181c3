"""Chromium without a window, and what a page did in it."""

import json
import time
from pathlib import Path
from typing import Any

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--hide-scrollbars"),
)


class Browser:
    """One browser for all tests of a session."""

    def __init__(self, program: str, driver: str) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = program
        for flag in FLAGS:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(driver))

    def close(self) -> None:
        self.driver.quit()

    def open(self, page: Path, width: int = 1280, scheme: str = "light") -> None:
        """Open the page and wait until its charts are drawn."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        self.complaints(), self.requests()  # forget those of the page before
        self.driver.get(page.as_uri())
        end = time.monotonic() + 60
        while not self.run("return document.documentElement.dataset.ready"):
            assert time.monotonic() < end, self.complaints()
            time.sleep(0.05)

    def run(self, program: str, *arguments: Any) -> Any:
        return self.driver.execute_script(program, *arguments)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def text(self, selector: str) -> str:
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def choose(self, selector: str, value: object) -> None:
        """Give a control another value, as a user would."""
        self.run(
            "const c = document.querySelector(arguments[0]); c.value = arguments[1];"
            "c.dispatchEvent(new Event('change'))",
            selector,
            str(value),
        )

    def complaints(self) -> list[str]:
        """What the console says: errors, and what the policy of the page has stopped."""
        return [line["message"] for line in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The addresses that were asked for since the last call."""
        messages = [json.loads(line["message"])["message"]
                    for line in self.driver.get_log("performance")]  # fmt: skip
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]
