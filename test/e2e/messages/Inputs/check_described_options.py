"""Compares the completion scripts and the manual page of `cleave` with the --help of every command.

The options and the forms of their values are read from --help alone. The folder has mlp.onnx.
"""
import re
import shutil
import subprocess
import sys


def cleave(*arguments):
    return subprocess.run(["cleave", *arguments], check=True, capture_output=True, text=True).stdout


def options(command):
    """Long name -> the form of its value ("" for a switch); the short names."""
    found, short = {}, {}
    for line in cleave(command, "--help").splitlines():
        # An option begins its line, two or four columns from the left. A long form has the line for itself.
        if option := re.match(r" {2,4}(?:-(\w),)?(--[\w-]+)(?: (?! )(\S+(?: \.\.\.| \(required\))*))?(?: |$)", line):
            found[option[2]] = option[3] or ""
            if option[1]:
                short[option[2]] = option[1]
    return found, short


def words(form):
    """The words of "auto|pattern=P[|P]|FILE" that are typed as they are: ["auto", "pattern="]."""
    form = re.sub(r"\[[^]]*\]|\([^)]*\)| \.\.\.", "", form)
    literal = [re.match(r"[^A-Z]*", part)[0] for part in form.split("|")]
    return [word for word in literal if word]


def complete(*typed, breaks="=:"):
    """What bash offers for the last word. Like bash, it cuts words at '=' and ':' first."""
    parts = [part for word in typed for part in (re.findall(f"[{breaks}]+|[^{breaks}]+", word) or [""])]
    quoted = " ".join("'" + part + "'" for part in parts)
    script = f"source cleave.bash; COMP_WORDS=({quoted}); COMP_CWORD={len(parts) - 1}; _cleave; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
    if done.stderr:
        sys.exit(f"{typed}: {done.stderr}")
    return done.stdout.split()


def same(what, got, expected):
    if sorted(got) != sorted(expected):
        sys.exit(f"{what}: expected {sorted(expected)}; got {sorted(got)}")


def set_in_pages(manual):
    """No line of the manual is too long for a page of 80 columns, and no request unknown."""
    if not shutil.which("groff"):
        return
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-rLL=80n"], input=manual, capture_output=True, text=True)
    if done.returncode or done.stderr:
        sys.exit(f"groff: {done.stderr}")


def main():
    scripts = {shell: cleave("completion", shell) for shell in ("bash", "zsh", "fish")}
    for shell, text in scripts.items():
        with open(f"cleave.{shell}", "w") as file:
            file.write(text)
    for check in (["zsh", "-n", "cleave.zsh"], ["fish", "--no-execute", "cleave.fish"]):
        if shutil.which(check[0]):
            subprocess.run(check, check=True)
    set_in_pages(cleave("manual"))
    manual = dict(re.findall(r'^\.SH "CLEAVE ([\w\\-]+)"\n(.*?)(?=^\.SH)', cleave("manual"), re.M | re.S))
    commands = re.findall(r"^  (\w+) {2,}", cleave("--help").split("Subcommands:")[1], re.M)
    same("commands", complete("cleave", ""), commands)
    groups = 0
    for command in commands:
        forms, short = options(command)
        groups += "--timeline" in forms and "--html" in forms
        same(f"bash: {command}", complete("cleave", command, "--"), forms)
        block = scripts["zsh"].split(f"    {command})\n")[1].split(";;")[0]
        same(f"zsh: {command}", re.findall(r"'\*(--[\w-]+)", block), forms)
        same(f"fish: {command}", re.findall(rf"__fish_seen_subcommand_from {command}'.*? -l ([\w-]+)", scripts["fish"]),
             [name[2:] for name in forms])
        same(f"manual: {command}", re.findall(r"^\.B .*?(--[\w-]+)", manual[command].replace("\\-", "-"), re.M), forms)
        for option, form in forms.items():
            expected = words(form)
            if not expected and not re.search(r"\b(FILE|DIR|PATH)\b", form):
                continue
            files = ["mlp.onnx"] if re.search(r"(^|\|)(FILE|DIR|PATH)\b", form) else []
            for typed in [option] + (["-" + short[option]] if option in short else []):
                offered = complete("cleave", command, typed, "")
                same(f"{command} {typed}", [o for o in offered if not o.startswith("cleave.")], expected + files)
            for word in expected if command == "compile" and not files else []:
                taken(option, word)
    if groups == 0:
        sys.exit("no command has an option group: the test has nothing to find")
    same("a part", complete("cleave", "compile", "--target", "host:a"), ["avx2", "avx512"])
    same("a part", complete("cleave", "compile", "--target=cuda:"), ["sm_80", "sm_90", "sm_100"])
    same("a part", complete("cleave", "compile", "--loss=m"), ["mse"])
    same("a shell", complete("cleave", "completion", ""), scripts)


def taken(option, word):
    """The word is a value of the option: there may be another error, but not that something else was expected."""
    value = word + "1" if word.endswith("=") else word
    done = subprocess.run(["cleave", "compile", "mlp.onnx", "-o", "cleave.out", "--train", "--loss", "cross-entropy", "--dim", "batch=4",
                           "--stop-after", "step", option, value] if option not in ("--stop-after", "--emit", "--loss") else
                          ["cleave", "compile", "mlp.onnx", "-o", "cleave.out", "--train", "--loss-output", "none", option, value],
                          capture_output=True, text=True)
    if re.search(rf"{option}: expected", done.stderr) and not word.endswith("="):
        sys.exit(f"{option} {value}: {done.stderr}")


if __name__ == "__main__":
    main()
